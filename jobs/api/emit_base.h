#pragma once

// The part of emit that is the same for all jobs: counters, records, rejection. Upstream: the
// author's Map. Downstream: combine_emit.h, group_emit.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "jobs/api/bad_record.h"
#include "jobs/api/text_block.h"

namespace weir {

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
  void Increment(std::size_t index, std::int64_t by = 1) { counters_[index] += by; }

  /// Ends the step with BAD_RECORD. `record` should lie in the current block, so that its offset is
  /// known. Only the first rejection counts; Map should then return soon.
  void Reject(std::string_view record, std::string_view reason) {
    if (bad_) return;
    if (block_.path == nullptr) {  // a result of the layer before: it lies in no file
      bad_ = MakeBadRecord("", 0, record, reason);
      return;
    }
    const bool inside = record.data() >= block_.data && record.data() <= block_.data + block_.bytes;
    bad_ =
        MakeBadRecord(*block_.path, block_.file_offset + (inside ? record.data() - block_.data : 0),
                      record, reason);
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

 protected:
  const TextBlock& block() const { return block_; }
  void CountEmitted() { ++emitted_; }

 private:
  TextBlock block_;
  std::optional<BadRecord> bad_;
  std::int64_t records_ = 0;
  std::int64_t emitted_ = 0;
  std::array<std::int64_t, kNumCounters> counters_{};
};

}  // namespace weir
