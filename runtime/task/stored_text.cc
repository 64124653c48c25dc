#include "runtime/task/stored_text.h"

#include <utility>

namespace weir::task {

absl::Status TextRunSink::Append(std::string_view bytes, std::int64_t records) {
  while (!bytes.empty()) {
    const std::string_view block = bytes.substr(0, static_cast<std::size_t>(kBlockBytesMax));
    // The first block carries the count: where a record ends is not known here.
    if (absl::Status status = sink_.Append(block, std::exchange(records, 0)); !status.ok()) {
      return status;
    }
    bytes.remove_prefix(block.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<StepTotals> JoinText(std::vector<std::unique_ptr<format::RunReader>> sections,
                                    PartSink& part, StepActivity& activity) {
  StepTotals totals;
  for (const std::unique_ptr<format::RunReader>& section : sections) {
    while (true) {
      if (activity.cancelled()) return absl::CancelledError("the job is being ended");
      const std::int64_t before = section->records();
      const absl::StatusOr<absl::Span<const char>> block = [&] {
        const FileIo io(activity);
        return section->NextBlock();
      }();
      if (!block.ok()) return block.status();
      if (block->empty()) break;
      const std::int64_t records = section->records() - before;
      activity.AddInputBytes(static_cast<std::int64_t>(block->size()));
      const std::string_view text(block->data(), block->size());
      if (absl::Status status = part.Append(text, records); !status.ok()) return status;
      totals.input_records += records;
    }
  }
  totals.output_records = totals.input_records;
  return totals;
}

}  // namespace weir::task
