#pragma once

// The part of emit that is the same for all jobs: counters, records, rejection. Upstream: the
// author's Map. Downstream: combine_emit.h, group_layer.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/counter_sum.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/sections/record_lengths.h"

namespace weir {

/// Whether the author declares that any order of operands gives the same.
template <typename Job>
constexpr bool IsCommutative() {
  if constexpr (requires { Job::kCommutative; }) {
    return Job::kCommutative;
  } else {
    return false;
  }
}

namespace emit_internal {
template <typename Job>
constexpr std::size_t NumCounters() {
  if constexpr (requires { Job::kCounters; }) {
    return Job::kCounters.size();
  } else {
    return 0;
  }
}
}  // namespace emit_internal

/// What every emit offers besides emitting.
template <typename Job>
class EmitBase {
 public:
  static constexpr std::size_t kNumCounters = emit_internal::NumCounters<Job>();

  /// Adds to the counter named Job::kCounters[index].
  void Increment(std::size_t index, std::int64_t by = 1) { AddToCounter(counters_[index], by); }

  /// Leaves the record out where the job may do that (--skip-bad), else ends the step with
  /// BAD_RECORD. `record` should lie in the current block, so that its offset is known. Map should
  /// then return, without anything emitted for the record; one that is given whole blocks is
  /// called again with what follows it.
  void Reject(std::string_view record, std::string_view reason) {
    if (bad_) return;
    BadRecord bad = Describe(record, reason);
    if (context_ != nullptr && context_->SkipBad(bad)) {
      ++skipped_;
      skipped_end_ = Inside(record) ? record.data() + record.size() : nullptr;
    } else {
      bad_ = std::move(bad);
    }
  }
  /// Ends the step with BAD_RECORD without asking.
  void RejectForGood(std::string_view record, std::string_view reason) {
    if (bad_) return;
    bad_ = Describe(record, reason);
    bad_->can_be_left_out = false;
  }
  bool rejected() const { return bad_.has_value(); }

  /// Counts input records; readers do it for the author.
  void CountRecord() { ++records_; }
  void CountRecords(std::int64_t records) { records_ += records; }
  std::int64_t emitted() const { return emitted_; }

  // For the engine.
  const std::optional<BadRecord>& bad() const { return bad_; }
  std::int64_t records() const { return records_; }
  const std::array<std::int64_t, kNumCounters>& counters() const { return counters_; }
  void SetBlock(const TextBlock& block) { block_ = block; }
  void AskBeforeRejecting(StepContext& context) { context_ = &context; }
  std::int64_t skipped() const { return skipped_; }
  /// End of the record that was left out last; null when it does not lie in the block.
  const char* skipped_end() const { return skipped_end_; }

 protected:
  const TextBlock& block() const { return block_; }
  void CountEmitted() { ++emitted_; }
  /// Returns whether a pair may be emitted, before anything of it is copied; else ends the step
  /// with BAD_RECORD. What was emitted for the record before stays, so that it cannot be left out.
  /// Checked by: tests/unit/jobs/emitted_keys_test.cc.
  bool Fits(std::string_view key, std::size_t value_bytes) {
    if (key.size() <= kPairBytesMax && value_bytes <= kPairBytesMax - key.size()) [[likely]] {
      return true;
    }
    RefusePair(key, value_bytes);
    return false;
  }
  bool Inside(std::string_view record) const {
    return block_.path != nullptr && record.data() >= block_.data &&
           record.data() <= block_.data + block_.bytes;
  }

 private:
  [[gnu::noinline]] void RefusePair(std::string_view key, std::size_t value_bytes) {
    RejectForGood(key, absl::StrCat("a key of ", key.size(), " bytes was emitted with a value of ",
                                    value_bytes, "; at most ", kPairBytesMax,
                                    " are allowed for both: emit a part or a hash of it"));
  }

  BadRecord Describe(std::string_view record, std::string_view reason) const {
    // A result of the layer before lies in no file.
    if (block_.path == nullptr) return MakeBadRecord("", 0, record, reason);
    const std::int64_t at = Inside(record) ? record.data() - block_.data : 0;
    return MakeBadRecord(*block_.path, block_.file_offset + at, record, reason);
  }

  TextBlock block_;
  StepContext* context_ = nullptr;
  std::int64_t skipped_ = 0;
  const char* skipped_end_ = nullptr;
  std::optional<BadRecord> bad_;
  std::int64_t records_ = 0;
  std::int64_t emitted_ = 0;
  std::array<std::int64_t, kNumCounters> counters_{};
};

}  // namespace weir
