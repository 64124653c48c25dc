#pragma once

// Writes one output part and sums it up. Upstream: a reduce step of the last layer. Downstream: the
// job's output directory, once the master has committed it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "runtime/format/file_appender.h"
#include "runtime/format/xxh3_stream.h"
#include "weir/v1/job.pb.h"

namespace weir::format {

/// Writes a new file and keeps its size, records and XXH3-64.
///
/// Thread-safety: one thread at a time.
/// Failure semantics: the file is removed unless Finish succeeded; Finish syncs it, because a part
///   is the one thing that must survive its machine.
/// Checked by: tests/unit/format/part_writer_test.cc.
class PartWriter : public PartSink {
 public:
  /// Errors: as RunWriter::Create.
  static absl::StatusOr<std::unique_ptr<PartWriter>> Create(const std::string& path);

  /// Errors: kResourceExhausted when the disk is full, naming the path.
  absl::Status Append(std::string_view bytes, std::int64_t records) override;

  /// Returns the part; its `file` is the last component of the path.
  absl::StatusOr<v1::OutputPart> Finish();

  std::int64_t bytes() const { return file_->bytes(); }

 private:
  explicit PartWriter(std::unique_ptr<FileAppender> file) : file_(std::move(file)) {}

  std::unique_ptr<FileAppender> file_;
  Xxh3Stream checksum_;
  std::int64_t records_ = 0;
};

}  // namespace weir::format
