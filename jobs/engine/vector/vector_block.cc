#include "jobs/engine/vector/vector_block.h"

#include <cstring>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// No byte of it is padding: blocks are compared byte by byte.
static_assert(sizeof(VectorBlockHead) == 32 && std::is_trivially_copyable_v<VectorBlockHead>);

template <typename... Parts>
absl::Status Damaged(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat("section of a run is damaged: ", parts...));
}

}  // namespace

void BeginVectorBlock(const VectorBlockHead& head, std::string& block) {
  block.assign(reinterpret_cast<const char*>(&head), sizeof(head));
}

absl::StatusOr<VectorBlockHead> ReadVectorBlock(absl::Span<const char> block,
                                                std::int64_t place_bytes, std::int64_t read_to) {
  VectorBlockHead head;
  if (block.size() < sizeof(head)) return Damaged("a block of ", block.size(), " bytes");
  std::memcpy(&head, block.data(), sizeof(head));
  if (head.first < read_to || head.count < 1 || head.count > head.places ||
      head.first > head.places - head.count) {
    return Damaged(head.count, " places from place ", head.first, " on, behind place ", read_to,
                   " of ", head.places);
  }
  const auto bytes = static_cast<std::int64_t>(block.size() - sizeof(head));
  // Counted before it is multiplied: what is said need not be true.
  const bool whole = head.count <= bytes / place_bytes && head.count * place_bytes == bytes;
  if (bytes != 0 && !whole) {
    return Damaged(bytes, " bytes for ", head.count, " places of ", place_bytes, " bytes");
  }
  return head;
}

}  // namespace weir
