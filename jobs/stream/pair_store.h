#pragma once

// The pairs that one slot of a map step has from its mappers, by reducer and in the reducers'
// order. Upstream: lines of mappers and combiners. Downstream: the step's run.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/engine/pairs/spilling_pairs.h"
#include "jobs/engine/table/key_ranges.h"
#include "jobs/stream/contract/stream_spec.h"

namespace weir::stream {

/// What travels for a pair. Its order, where a comparator gives one, stands before the key, and how
/// long that is before the value, so that keys the comparator finds equal still lie together.
class StoredPair {
 public:
  explicit StoredPair(const StreamSpec& spec) : spec_(spec) {}

  /// Both views are valid until the next call.
  void Make(std::string_view key, std::string_view value, std::string_view& stored_key,
            std::string_view& stored_value);
  /// The pair again; false where it was not made by Make.
  bool Read(std::string_view stored_key, std::string_view stored_value, std::string_view& key,
            std::string_view& value) const;

 private:
  const StreamSpec& spec_;
  std::string key_;
  std::string value_;
};

/// Thread-safety: one thread at a time.
/// Bounds: those of SpillingPairs, as often as EndBlock is called.
/// Checked by: tests/unit/jobs/stream/stream_test.cc.
class PairStore {
 public:
  /// `index_in_layer`: of the step; without reducers all its lines go to one consumer.
  PairStore(const StreamSpec& spec, const KeyRanges& ranges, int num_consumers, int index_in_layer,
            StepContext& context);

  /// Adds whole lines of a mapper.
  void AddLines(std::string_view lines);
  /// Adds whole lines of a combiner.
  void AddCombinedLines(std::string_view lines);
  void Add(std::string_view key, std::string_view value);

  /// Puts pairs on disk where they are too many. Errors: those of SpillingPairs::EndBlock.
  absl::Status EndBlock() { return pairs_.EndBlock(0); }
  /// Ends what was begun and sorts what is in memory. Nothing may be added afterwards.
  void Sort();
  /// Calls visit(key, value) for each pair in memory, in order. Requires: sorted.
  absl::Status Visit(
      const std::function<absl::Status(std::string_view key, std::string_view value)>& visit) const;

  /// Puts the pairs of `other` in the place of those in memory here. Requires: none of `other` lies
  /// on disk.
  void TakeMemoryOf(PairStore& other) { pairs_.TakeMemoryOf(other.pairs_); }

  std::int64_t memory_bytes() const { return pairs_.buffer().memory_bytes(); }
  SpillingPairs& pairs() { return pairs_; }

 private:
  int ConsumerOf(std::string_view key) const;
  void EndText();

  const StreamSpec& spec_;
  const KeyRanges& ranges_;
  const int num_consumers_;
  const int index_in_layer_;
  StoredPair stored_;
  SpillingPairs pairs_;
  std::string text_;  // output lines of a job without reducers
};

/// Appends a line as it stands in the output: key, separator, value.
void AppendOutputLine(const KeyValue& pair, std::string_view line, const FieldCut& cut,
                      const std::string& separator, std::string& out);

/// Calls take(line) for each line, without its newline. Requires: whole lines.
template <typename Take>
void ForEachLine(std::string_view lines, Take&& take) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    take(lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
}

}  // namespace weir::stream
