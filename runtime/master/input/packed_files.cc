#include "runtime/master/input/packed_files.h"

#include <cstdint>
#include <utility>

#include "jobs/api/program.h"
#include "jobs/packed/member_borders.h"

namespace weir::master {

void FindBorders(env::Storage& storage, InputList& input) {
  std::int64_t looks_left = kHeaderLooksMax;
  for (InputFile& file : input.files) {
    const Packing packing = PackingOf(file.path);
    if (packing == Packing::kNone || file.bytes < 2 * kPiecePackedBytesMin ||
        file.bytes < input.total_bytes / kFilesShared) {
      continue;
    }
    const auto read = [&](std::int64_t offset, std::int64_t bytes) {
      return storage.ReadAt(file.path, offset, bytes);
    };
    auto borders = packing == Packing::kZstd ? ZstdBorders(read, file.bytes, looks_left)
                                             : BgzfBorders(read, file.bytes, looks_left);
    if (borders.ok()) file.borders = *std::move(borders);
  }
}

}  // namespace weir::master
