#pragma once

// Reads one section of a run, block by block, and believes nothing. Upstream: run_writer.h on this
// or another worker. Downstream: a reduce step.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "runtime/base/fd.h"

namespace weir::format {

/// Gives the verified blocks of the bytes [offset, offset + bytes) of a file.
///
/// Thread-safety: one thread at a time.
/// Errors: kDataLoss for whatever is not a whole sequence of intact blocks, naming file and offset;
///   after an error every further call repeats it.
/// Bounds: two buffers of the largest block, one where nothing is packed.
/// Checked by: tests/unit/format/run_test.cc, tests/fuzz/run_fuzz.cc.
class RunReader : public RunSource {
 public:
  /// Opens the file. Errors: kNotFound and others of open, naming the path; kInvalidArgument for a
  /// negative range.
  static absl::StatusOr<std::unique_ptr<RunReader>> Open(const std::string& path,
                                                         std::int64_t offset, std::int64_t bytes);
  /// The same of a file that is open already, which several may share; `path` names it in errors.
  static absl::StatusOr<std::unique_ptr<RunReader>> Of(std::shared_ptr<const Fd> file,
                                                       const std::string& path, std::int64_t offset,
                                                       std::int64_t bytes);

  absl::StatusOr<absl::Span<const char>> NextBlock() override;
  absl::StatusOr<bool> TakeBlock(std::string& block) override;
  /// Looks at the headers only. Blocks that are damaged, and those behind them, do not count.
  int CountBlocks(int most) const override;

  /// Records in the blocks given so far.
  std::int64_t records() const { return records_; }
  /// Bytes of the file that these took, headers included.
  std::int64_t bytes_read() const { return position_ - begin_; }

 private:
  RunReader(std::shared_ptr<const Fd> file, std::string path, std::int64_t offset,
            std::int64_t bytes);

  absl::Status ReadBlock(std::string& block);
  absl::Status ReadAt(std::int64_t offset, char* into, std::int64_t bytes) const;
  absl::Status DataLossAt(std::int64_t offset, const absl::Status& why) const;

  std::shared_ptr<const Fd> file_;
  std::string path_;
  std::int64_t begin_;
  std::int64_t position_;
  std::int64_t end_;
  std::int64_t records_ = 0;
  absl::Status broken_;
  std::string block_;   // that NextBlock gave last
  std::string packed_;  // as it is stored, where it is packed
};

/// The file of which a RunReader found that it is no longer what was written; none: it is about
/// something else.
std::optional<std::string> DamagedRunPath(const absl::Status& status);

}  // namespace weir::format
