#pragma once

// Sinks and sources that pass calls on and count what goes through, so that a step that only moves
// bytes is seen to be alive, and say while they do so, so that one that waits for its disk is.
// Upstream: step_runner, the kinds of steps. Downstream: runtime/format.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "runtime/format/run_reader.h"
#include "runtime/task/step_activity.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

/// Marks what went wrong with a file of the job's output, which no worker answers for.
inline absl::Status OfOutput(absl::Status status) {
  if (!status.ok()) status.SetPayload("weir/of-output", absl::Cord());
  return status;
}
inline bool IsOfOutput(const absl::Status& status) {
  return status.GetPayload("weir/of-output").has_value();
}

class CountingRunSink : public RunSink {
 public:
  /// `read`, by section: whether anybody reads it; what is for nobody goes no further.
  CountingRunSink(RunSink& sink, std::vector<bool> read, StepActivity& activity)
      : sink_(sink), read_(std::move(read)), activity_(activity) {}
  absl::Status BeginSection(int consumer) override {
    for_nobody_ = IsForNobody(consumer);
    return for_nobody_ ? absl::OkStatus() : sink_.BeginSection(consumer);
  }
  absl::Status Append(std::string_view block, std::int64_t records) override {
    if (for_nobody_) return absl::OkStatus();
    activity_.AddOutputBytes(static_cast<std::int64_t>(block.size()));
    const FileIo io(activity_);
    return sink_.Append(block, records);
  }
  absl::Status AppendStandIn(std::string_view block, std::int64_t records,
                             std::int64_t stands_for_bytes) override {
    if (for_nobody_) return absl::OkStatus();
    activity_.AddOutputBytes(static_cast<std::int64_t>(block.size()));
    const FileIo io(activity_);
    return sink_.AppendStandIn(block, records, stands_for_bytes);
  }
  void Ready(int consumer, std::string_view block, std::int64_t records,
             ReadyBlock& ready) override {
    if (IsForNobody(consumer)) {
      ready = {};
    } else {
      sink_.Ready(consumer, block, records, ready);
    }
  }
  absl::Status AppendReady(const ReadyBlock& block) override {
    if (for_nobody_) return absl::OkStatus();
    activity_.AddOutputBytes(block.raw_bytes);
    const FileIo io(activity_);
    return sink_.AppendReady(block);
  }

 private:
  bool IsForNobody(int consumer) const {
    return consumer >= 0 && static_cast<std::size_t>(consumer) < read_.size() &&
           !read_[static_cast<std::size_t>(consumer)];
  }

  RunSink& sink_;
  const std::vector<bool> read_;
  bool for_nobody_ = false;
  StepActivity& activity_;
};

class CountingPartSink : public PartSink {
 public:
  CountingPartSink(PartSink& sink, StepActivity& activity) : sink_(sink), activity_(activity) {}
  absl::Status Append(std::string_view bytes, std::int64_t records) override {
    activity_.AddOutputBytes(static_cast<std::int64_t>(bytes.size()));
    const FileIo io(activity_);
    return OfOutput(sink_.Append(bytes, records));
  }

 private:
  PartSink& sink_;
  StepActivity& activity_;
};

class CountingRunSource : public RunSource {
 public:
  CountingRunSource(std::unique_ptr<format::RunReader> source, StepActivity& activity)
      : source_(std::move(source)), activity_(activity) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    return Counted([this] { return source_->NextBlock(); });
  }
  absl::StatusOr<bool> TakeBlock(std::string& block) override {
    return Counted([this, &block] { return source_->TakeBlock(block); });
  }
  int CountBlocks(int most) const override {
    const FileIo io(activity_);
    return source_->CountBlocks(most);
  }

 private:
  // As the order counts them: stored bytes.
  template <typename Read>
  auto Counted(Read&& read) -> decltype(read()) {
    const FileIo io(activity_);
    const std::int64_t before = source_->bytes_read();
    auto block = read();
    activity_.AddInputBytes(source_->bytes_read() - before);
    return block;
  }

  std::unique_ptr<format::RunReader> source_;
  StepActivity& activity_;
};

class EmptyRunSource : public RunSource {
 public:
  absl::StatusOr<absl::Span<const char>> NextBlock() override { return absl::Span<const char>(); }
};

/// Opens the section that a step reads. Errors: those of RunReader::Open.
inline absl::StatusOr<std::unique_ptr<RunSource>> OpenInput(const v1::StepInput& input,
                                                            StepActivity& activity) {
  if (input.bytes() == 0) return std::make_unique<EmptyRunSource>();
  auto reader = format::RunReader::Open(input.path(), input.path_offset(), input.bytes());
  if (!reader.ok()) return reader.status();
  return std::make_unique<CountingRunSource>(*std::move(reader), activity);
}

}  // namespace weir::task
