#include "runtime/format/run_check.h"

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/format/run_reader.h"

namespace weir::format {

absl::Status CheckRun(const v1::RunInfo& run) {
  for (const v1::RunSection& section : run.sections()) {
    const absl::StatusOr<std::unique_ptr<RunReader>> reader =
        RunReader::Open(run.path(), section.offset(), section.bytes());
    if (!reader.ok()) return reader.status();
    for (;;) {
      const absl::StatusOr<absl::Span<const char>> block = (*reader)->NextBlock();
      if (!block.ok()) return block.status();
      if (block->empty()) break;
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::format
