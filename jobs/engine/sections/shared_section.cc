#include "jobs/engine/sections/shared_section.h"

#include "jobs/engine/sections/section_blocks.h"

namespace weir {

SharedSection::SharedSection(RunSource& source, int num_readers)
    : blocks_(
          [&source](std::string& block, bool& record_goes_on) {
            const absl::StatusOr<bool> more = source.TakeBlock(block);
            record_goes_on =
                !block.empty() && static_cast<BlockKind>(block.front()) == BlockKind::kRecordPart;
            return more;
          },
          num_readers) {}

absl::StatusOr<absl::Span<const char>> SharedSection::Reader::NextBlock() {
  const absl::StatusOr<bool> more = TakeBlock(block_);
  if (!more.ok()) return more.status();
  return absl::Span<const char>(block_);
}

}  // namespace weir
