#pragma once

// Tries whether an operation that is declared commutative is. Upstream: map steps, before they map.
// Downstream: the author's Map and Combine.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "jobs/api/key_codec.h"
#include "jobs/api/program.h"
#include "jobs/api/step_error.h"
#include "jobs/api/text_block.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/input/open_blocks.h"

namespace weir {

namespace commutative_internal {

/// Pairs of values that are tried: the first ones of a step show what all do, or nearly.
inline constexpr int kPairsTried = 64;
/// Keys that are remembered while pairs are sought.
inline constexpr std::size_t kKeysMax = 4096;
/// Input that is mapped for it: some hundred microseconds.
inline constexpr std::int64_t kInputBytes = 64 << 10;

/// As it would stand in a section; what lies between the members of a struct is no value.
template <typename Value>
std::string Encoded(Value value) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  if constexpr (std::is_trivially_copyable_v<Value>) __builtin_clear_padding(&value);
#endif
#endif
  std::string bytes;
  ValueCodec<Value>::Append(value, bytes);
  return bytes;
}

inline std::string Shown(std::string_view bytes) {
  constexpr std::size_t kShownMax = 200;
  return absl::CHexEscape(std::string(bytes.substr(0, kShownMax)));
}

/// The emit of a trial: combines values that meet under one key, both ways.
template <typename Job>
class BothWaysEmit : public EmitBase<Job> {
 public:
  using Key = typename Job::Key;
  using Value = typename Job::Value;

  explicit BothWaysEmit(const Job& job) : job_(job) {}

  void operator()(typename KeyForm<Key>::Argument key, const Value& value) {
    this->CountEmitted();
    if (done()) return;
    const std::string_view bytes = KeyForm<Key>::Bytes(key, scratch_);
    const auto met = values_.find(bytes);
    if (met == values_.end()) {
      if (values_.size() < kKeysMax) values_.emplace(bytes, value);
      return;
    }
    ++pairs_;
    Value forward = met->second;
    job_.Combine(forward, value);
    Value backward = value;
    job_.Combine(backward, met->second);
    if (Encoded(forward) != Encoded(backward)) {
      difference_ = absl::StrCat("the values of key '", Shown(bytes), "' combine to '",
                                 Text(key, forward), "' in the order of the input and to '",
                                 Text(key, backward), "' in the other");
    }
    met->second = std::move(forward);
  }

  bool done() const { return pairs_ >= kPairsTried || !difference_.empty(); }
  /// Empty where all pairs gave the same both ways.
  const std::string& difference() const { return difference_; }

 private:
  // What a part would say, or the bytes of the value.
  std::string Text(typename KeyForm<Key>::Argument key, const Value& value) const {
    std::string text;
    if constexpr (requires { job_.Format(key, value, text); }) {
      job_.Format(key, value, text);
      if (!text.empty() && text.back() == '\n') text.pop_back();
    } else {
      text = Encoded(value);
    }
    return Shown(text);
  }

  const Job& job_;
  std::map<std::string, Value, std::less<>> values_;
  std::string scratch_;
  std::string difference_;
  int pairs_ = 0;
};

}  // namespace commutative_internal

/// Maps the beginning of the input once more and combines the first pairs of values that meet under
/// one key, both ways; what they give must be the same to the byte.
///
/// Errors: StepError NOT_COMMUTATIVE naming the key and both results. What is wrong with the input
///   is left to the step itself.
/// Bounds: kInputBytes of input (one block of a packed file), kPairsTried pairs, kKeysMax keys.
/// Checked by: tests/unit/jobs/commutative_check_test.cc.
template <typename Job>
absl::Status CheckCommutative(const Job& job, absl::Span<const InputRange> ranges,
                              StepContext& context) {
  const auto first = std::find_if(ranges.begin(), ranges.end(),
                                  [](const InputRange& range) { return range.begin < range.end; });
  if (first == ranges.end()) return absl::OkStatus();
  InputRange beginning = *first;
  beginning.end = std::min(beginning.end, beginning.begin + commutative_internal::kInputBytes);
  Job tried = job;
  commutative_internal::BothWaysEmit<Job> emit(tried);
  typename Job::Reader reader;
  auto source = OpenBlocks(Job::Reader::kFraming, beginning);
  TextBlock block;
  const absl::StatusOr<bool> more = [&] {
    const ReadUnderWay reading(context);
    return source.Next(block);
  }();
  if (!more.ok() || !*more) return absl::OkStatus();
  emit.SetBlock(block);
  reader.MapBlock(tried, block, emit);
  if (emit.difference().empty()) return absl::OkStatus();
  return StepErrorStatus(
      absl::StatusCode::kFailedPrecondition,
      {std::string(step_error::kNotCommutative),
       absl::StrCat("the job says that its Combine is commutative, but ", emit.difference()),
       "take kCommutative out of the job: its values are then combined in the order of the input; "
       "or make Combine give the same both ways",
       ""});
}

}  // namespace weir
