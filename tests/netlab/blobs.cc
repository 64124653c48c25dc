#include "tests/netlab/blobs.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/format/block.h"

namespace weir::netlab {
namespace {

using Clock = std::chrono::steady_clock;

struct Blobs {
  std::int64_t record_begin = 0;
  int ready_ms = 0;
  std::vector<std::int64_t> section_bytes;
};

/// At the begin of each block: where it comes from and where it goes.
struct Label {
  std::int64_t record_begin = 0;
  std::int64_t consumer = 0;
  std::int64_t block = 0;
};

char FillOf(const Label& label) {
  return static_cast<char>(label.record_begin / kRecordBytes * 31 + label.consumer * 7 +
                           label.block);
}

absl::StatusOr<Blobs> ReadRecord(const InputRange& range) {
  std::ifstream file(range.path, std::ios::binary);
  std::string text(static_cast<std::size_t>(kRecordBytes), '\0');
  file.seekg(range.begin);
  if (range.end - range.begin != kRecordBytes || !file.read(text.data(), kRecordBytes)) {
    return absl::InvalidArgumentError(absl::StrCat("a mapper of blobs reads one record of ",
                                                   kRecordBytes, " bytes, not [", range.begin, ", ",
                                                   range.end, ") of ", range.path));
  }
  Blobs blobs;
  blobs.record_begin = range.begin;
  std::istringstream words(text);
  words >> blobs.ready_ms;
  for (std::int64_t bytes = 0; words >> bytes;) blobs.section_bytes.push_back(bytes);
  return blobs;
}

/// Writes a section of exactly its number of stored bytes: blocks of nearly equal size.
absl::Status WriteSection(const Blobs& blobs, int consumer, RunSink& sink) {
  const std::int64_t stored = blobs.section_bytes[static_cast<std::size_t>(consumer)];
  if (stored == 0) return absl::OkStatus();
  if (stored < kSectionBytesMin) {
    return absl::InvalidArgumentError(
        absl::StrCat("a section of ", stored, " bytes; at least ", kSectionBytesMin));
  }
  absl::Status status = sink.BeginSection(consumer);
  const std::int64_t block_max = kBlockBytesMax + format::kBlockHeaderBytes;
  const std::int64_t blocks = (stored + block_max - 1) / block_max;
  for (std::int64_t b = 0; status.ok() && b < blocks; ++b) {
    const std::int64_t bytes = stored * (b + 1) / blocks - stored * b / blocks;
    const Label label{blobs.record_begin, consumer, b};
    std::string block(static_cast<std::size_t>(bytes - format::kBlockHeaderBytes), FillOf(label));
    std::memcpy(block.data(), &label, sizeof(label));
    status = sink.Append(block, 1);
  }
  return status;
}

absl::Status WaitUntil(Clock::time_point ready, StepContext& context) {
  constexpr int kSliceMs = 20;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(ready - Clock::now()).count();
    if (left <= 0) return absl::OkStatus();
    if (context.cancelled()) return absl::CancelledError("the job is being ended");
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(left, kSliceMs)));
    context.AddProgress(1);
  }
}

class Program : public JobProgram {
 public:
  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    const Clock::time_point begin = Clock::now();
    if (order.ranges.size() != 1) {
      return absl::InvalidArgumentError("a mapper of blobs reads one record");
    }
    const absl::StatusOr<Blobs> blobs = ReadRecord(order.ranges[0]);
    if (!blobs.ok()) return blobs.status();
    if (blobs->section_bytes.size() != order.consumer_key_end.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the record has sizes for ",
                                                     blobs->section_bytes.size(), " consumers of ",
                                                     order.consumer_key_end.size()));
    }
    const int consumers = static_cast<int>(blobs->section_bytes.size());
    for (int consumer = 0; consumer < consumers; ++consumer) {
      absl::Status written = WriteSection(*blobs, consumer, sink);
      if (!written.ok()) return written;
    }
    absl::Status waited = WaitUntil(begin + std::chrono::milliseconds(blobs->ready_ms), context);
    if (!waited.ok()) return waited;
    return StepTotals{1, consumers};
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder, RunSink&, StepContext&) override {
    return absl::UnimplementedError("blobs has one layer of reducers");
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext&) override {
    StepTotals totals;
    for (const std::unique_ptr<RunSource>& input : order.inputs) {
      Label expected{0, order.index_in_layer, 0};
      std::int64_t stored = 0;
      for (;; ++expected.block) {
        const absl::StatusOr<absl::Span<const char>> block = input->NextBlock();
        if (!block.ok()) return block.status();
        if (block->empty()) break;
        absl::Status sound = CheckLabel(*block, expected);
        if (!sound.ok()) return sound;
        stored += static_cast<std::int64_t>(block->size()) + format::kBlockHeaderBytes;
      }
      if (expected.block == 0) continue;
      const std::string line = absl::StrCat(expected.consumer, " ", expected.record_begin, " ",
                                            stored, " ", expected.block, "\n");
      absl::Status written = sink.Append(line, 1);
      if (!written.ok()) return written;
      totals.input_records += expected.block;
      ++totals.output_records;
    }
    return totals;
  }

 private:
  /// The first block says which mapper the section comes from.
  static absl::Status CheckLabel(absl::Span<const char> block, Label& expected) {
    Label label;
    if (block.size() < sizeof(label)) return absl::DataLossError("a block without a label");
    std::memcpy(&label, block.data(), sizeof(label));
    if (expected.block == 0) expected.record_begin = label.record_begin;
    const bool same = label.record_begin == expected.record_begin &&
                      label.consumer == expected.consumer && label.block == expected.block;
    const char fill = FillOf(label);
    if (!same || !std::all_of(block.begin() + sizeof(label), block.end(),
                              [fill](char c) { return c == fill; })) {
      return absl::DataLossError(absl::StrCat(
          "block ", label.block, " of record ", label.record_begin, " for consumer ",
          label.consumer, " came as block ", expected.block, " for ", expected.consumer));
    }
    return absl::OkStatus();
  }
};

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "blobs";
    info_.summary = "Moves exactly the bytes that its input asks for (laboratory only)";
    info_.rates = {1e-9, 1, {{1e-9, 0.001}}};
  }
  const JobInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return std::make_unique<Program>();
  }
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeBlobs() { return std::make_unique<Definition>(); }

}  // namespace weir::netlab
