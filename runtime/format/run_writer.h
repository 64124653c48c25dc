#pragma once

// Writes one run: sections in rising order of consumer, each a sequence of checked blocks. A
// consumer is a number here; who writes the run knows which step it stands for. Upstream: a map or
// reduce step. Downstream: run_reader.h, and the data plane, which moves byte ranges of the file as
// they are.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "runtime/format/codec.h"
#include "runtime/format/codec_trial.h"
#include "runtime/format/file_appender.h"
#include "weir/v1/steps.pb.h"

namespace weir::format {

/// Writes the blocks of one run to a new file, packed where the codec saves something, and tries
/// every codec on the run's first bytes, unless nobody asks: so the next plan knows what packing
/// would save.
///
/// Thread-safety: one thread at a time; Ready by any, meanwhile too.
/// Failure semantics: the file is removed unless Finish succeeded. Not synced: a run that is lost
///   with its machine is made again.
/// Bounds: a buffer of 256 KiB, and one block more for each thread that packs.
/// Checked by: tests/unit/format/run_test.cc.
class RunWriter : public RunSink {
 public:
  /// Errors: kAlreadyExists, kNotFound (folder), kResourceExhausted (disk full); they name the
  /// path. Requires: a known codec.
  static absl::StatusOr<std::unique_ptr<RunWriter>> Create(const std::string& path, v1::Codec codec,
                                                           TryCodecs tries = TryCodecs::kYes);

  /// Errors: kInvalidArgument when `consumer` does not rise.
  absl::Status BeginSection(int consumer) override;
  /// Errors: kInvalidArgument before the first section or beyond 1 .. kBlockBytesMax bytes;
  ///   kResourceExhausted when the disk is full, naming the path.
  absl::Status Append(std::string_view block, std::int64_t records) override;
  /// Says nothing of codecs: what they would make of such blocks is not what the job's data is.
  absl::Status AppendStandIn(std::string_view block, std::int64_t records,
                             std::int64_t stands_for_bytes) override;
  /// The same bytes as by Append, header and checksum included.
  void Ready(int consumer, std::string_view block, std::int64_t records,
             ReadyBlock& ready) override;
  absl::Status AppendReady(const ReadyBlock& block) override;

  /// Writes out what is buffered and publishes the file under `run_id`. Empty sections are left
  /// out.
  absl::StatusOr<v1::RunInfo> Finish(const std::string& run_id);

 private:
  RunWriter(std::unique_ptr<FileAppender> file, v1::Codec codec, TryCodecs tries)
      : file_(std::move(file)), codec_(codec), packer_(codec), trial_(tries) {}

  absl::Status CheckBlockOf(std::int64_t raw_bytes, std::int64_t records) const;
  // Opens the section in the file, when it is the first block of it.
  v1::RunSection& OpenSection();
  // Of a block of so many bytes, or that stands for so many.
  void CountBlock(v1::RunSection& section, std::int64_t bytes, std::int64_t records) const;
  absl::Status AppendPacked(std::string_view block, std::int64_t records,
                            std::int64_t stands_for_bytes);
  absl::Status AddToTrial(const ReadyBlock& block);
  BlockPacker TakePacker();

  std::unique_ptr<FileAppender> file_;
  const v1::Codec codec_;
  BlockPacker packer_;
  std::mutex idle_mutex_;                  // guards idle_packers_
  std::vector<BlockPacker> idle_packers_;  // of Ready
  CodecTrial trial_;
  v1::RunInfo info_;
  int consumer_ = -1;
};

}  // namespace weir::format
