#include "jobs/engine/references/input_references.h"

#include <algorithm>
#include <functional>

namespace weir {

InputReferences::InputReferences(absl::Span<const KeptInputs> kept) {
  for (const KeptInputs& of_slot : kept) {
    for (const auto& input : of_slot) {
      const MappedBytes mapped = input->mapped();
      if (mapped.bytes == 0) continue;
      InputRange file = input->AsOpened();
      const auto same =
          std::find_if(files_.begin(), files_.end(), [&file](const InputRange& known) {
            return known.path == file.path && known.file_bytes == file.file_bytes &&
                   known.version.modified_ns == file.version.modified_ns &&
                   known.version.changed_ns == file.version.changed_ns &&
                   known.version.inode == file.version.inode &&
                   known.version.device == file.version.device;
          });
      mapped_.push_back({mapped, static_cast<std::size_t>(same - files_.begin())});
      if (same == files_.end()) files_.push_back(std::move(file));
    }
  }
  std::sort(mapped_.begin(), mapped_.end(), [](const Mapped& a, const Mapped& b) {
    return std::less<>()(a.bytes.data, b.bytes.data);
  });
}

const InputReferences::Mapped* InputReferences::Find(const char* data, std::int64_t bytes) const {
  const auto behind = std::upper_bound(
      mapped_.begin(), mapped_.end(), data,
      [](const char* at, const Mapped& in) { return std::less<>()(at, in.bytes.data); });
  if (behind == mapped_.begin()) return nullptr;
  const Mapped& before = *(behind - 1);
  return data - before.bytes.data <= before.bytes.bytes - bytes ? &before : nullptr;
}

}  // namespace weir
