#pragma once

// Tries whether an operation is what the job declares of it, on the first values of the input.
// Upstream: map steps, before they map. Downstream: the author's Map and Combine.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "jobs/api/key_codec.h"
#include "jobs/api/key_place.h"
#include "jobs/api/program.h"
#include "jobs/api/step_error.h"
#include "jobs/api/text_block.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/input/open_blocks.h"
#include "jobs/engine/slots/slot_work.h"

namespace weir {

namespace operation_internal {

/// Pairs of values that are tried: the first ones of a step show what all do, or nearly.
inline constexpr int kPairsTried = 64;
/// Keys that are remembered while pairs are sought.
inline constexpr std::size_t kKeysMax = 4096;
/// Input that is mapped for it: some hundred microseconds.
inline constexpr std::int64_t kInputBytes = 64 << 10;
/// Vectors up to this size are tried; filling larger ones several times would be felt.
inline constexpr std::int64_t kVectorBytes = 8 << 20;
/// What the grouping of operands may change in a floating point result, in parts of the largest
/// number that took part: some thousand roundings.
inline constexpr double kGroupingTolerance = 1e-12;

/// The beginning of the first range that is not empty; an empty range where there is none.
inline InputRange BeginningOf(absl::Span<const InputRange> ranges) {
  const auto first = std::find_if(ranges.begin(), ranges.end(),
                                  [](const InputRange& range) { return range.begin < range.end; });
  if (first == ranges.end()) return {};
  InputRange beginning = *first;
  beginning.end = std::min(beginning.end, beginning.begin + kInputBytes);
  return beginning;
}

/// Maps the first block of the input with `job`; what is wrong with it is left to the step itself.
/// False where there is nothing to map.
template <typename Reader, typename Job, typename Emit>
bool MapBeginning(absl::Span<const InputRange> ranges, Job& job, Emit& emit, StepContext& context) {
  const InputRange beginning = BeginningOf(ranges);
  if (beginning.begin >= beginning.end) return false;
  Reader reader;
  auto source = OpenBlocks(Reader::kFraming, beginning, DecoderBytesMax(context));
  TextBlock block;
  const absl::StatusOr<bool> more = [&] {
    const ReadUnderWay reading(context);
    return source.Next(block);
  }();
  if (!more.ok() || !*more) return false;
  emit.SetBlock(block);
  reader.MapBlock(job, block, emit);
  return true;
}

inline absl::Status Lies(std::string_view code, std::string message, const char* advice) {
  return StepErrorStatus(absl::StatusCode::kFailedPrecondition,
                         {std::string(code), std::move(message),
                          absl::StrCat(advice,
                                       "; or, where the check is wrong, run the job with "
                                       "--no-check-operation"),
                          ""});
}

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

  void operator()(typename KeyForm<Key>::Argument key, const Value& value, KeyPlace&) {
    (*this)(key, value);
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

}  // namespace operation_internal

/// Maps the beginning of the input once more and combines the first pairs of values that meet under
/// one key, both ways; what they give must be the same to the byte.
///
/// Errors: StepError NOT_COMMUTATIVE naming the key and both results. What is wrong with the input
///   is left to the step itself.
/// Bounds: kInputBytes of input (one block of a packed file), kPairsTried pairs, kKeysMax keys.
/// Checked by: tests/unit/jobs/operation_check_test.cc.
template <typename Job>
absl::Status CheckCommutative(const Job& job, absl::Span<const InputRange> ranges,
                              StepContext& context) {
  Job tried = job;
  operation_internal::BothWaysEmit<Job> emit(tried);
  operation_internal::MapBeginning<typename Job::Reader>(ranges, tried, emit, context);
  if (emit.difference().empty()) return absl::OkStatus();
  return operation_internal::Lies(
      step_error::kNotCommutative,
      absl::StrCat("the job says that its Combine is commutative, but ", emit.difference()),
      "take kCommutative out of the job: its values are then combined in the order of the input; "
      "or make Combine give the same both ways");
}

namespace operation_internal {

/// Same bytes; floating point numbers that are none are all alike.
template <typename Place>
bool SameBytes(const Place& a, const Place& b) {
  if constexpr (std::is_floating_point_v<Place>) {
    if (a != a && b != b) return true;
  }
  return Encoded(a) == Encoded(b);
}

/// Same but for rounding: what another grouping of the operands may change. `size` is the largest
/// number that took part.
template <typename Job, typename Place>
bool Alike(const Job& job, const Place& a, const Place& b, double size) {
  if (SameBytes(a, b)) return true;
  if constexpr (requires { job.Alike(a, b); }) {
    return job.Alike(a, b);
  } else if constexpr (std::is_floating_point_v<Place>) {
    // One of them overflowed, or met an infinity: rounding, taken to the extreme.
    if (!(std::abs(a) <= std::numeric_limits<Place>::max()) ||
        !(std::abs(b) <= std::numeric_limits<Place>::max())) {
      return true;
    }
    return static_cast<double>(std::abs(a - b)) <=
           std::max(kGroupingTolerance, 1e4 * std::numeric_limits<Place>::epsilon()) * size;
  } else {
    // Nobody says which members of a struct are rounded.
    return !std::is_integral_v<Place>;
  }
}

template <typename Place>
double SizeOf(const Place& value) {
  if constexpr (std::is_arithmetic_v<Place>) {
    return std::abs(static_cast<double>(value));
  } else {
    return 0;
  }
}

/// Tries the operation of a job whose element is a vector on three partial results. `Fold` is
/// fold(job, into, from), `Neutral` neutral(place).
template <typename Job, typename Fold>
class VectorTrial {
 public:
  using Place = typename Job::Place;
  using Vector = std::vector<Place>;

  VectorTrial(const Job& job, Fold fold, bool commutative, bool splits)
      : job_(job), fold_(fold), commutative_(commutative), splits_(splits) {}

  absl::Status Try(const Vector& a, const Vector& b, const Vector& c) const {
    const Vector ab = Folded(a, b);
    if (commutative_) {
      const Vector ba = Folded(b, a);
      if (const std::size_t at = FirstOf(ab, ba, SameBytes<Place>); at < ab.size()) {
        return Lies(step_error::kNotCommutative,
                    absl::StrCat("the job says that its Combine is commutative, but at place ", at,
                                 " two partial results combine to '", Text(at, ab[at]),
                                 "' in the order of the input and to '", Text(at, ba[at]),
                                 "' in the other"),
                    "take kCommutative out of the job: its elements are then combined in the order "
                    "of the input; or make Combine give the same both ways");
      }
    }
    const Vector left = Folded(ab, c);
    const Vector right = Folded(a, Folded(b, c));
    for (std::size_t at = 0; at < left.size(); ++at) {
      const double size = std::max({SizeOf(a[at]), SizeOf(b[at]), SizeOf(c[at]), SizeOf(ab[at]),
                                    SizeOf(left[at]), SizeOf(right[at])});
      if (Alike(job_, left[at], right[at], size)) continue;
      return Lies(step_error::kNotAssociative,
                  absl::StrCat("Combine must be associative, but at place ", at,
                               " three partial results combine to '", Text(at, left[at]),
                               "' from the left and to '", Text(at, right[at]), "' from the right"),
                  "make Combine give the same however operands are grouped: how input is cut must "
                  "not show in the result");
    }
    if (splits_) {
      if (absl::Status status = TryParts(a, b, ab); !status.ok()) return status;
    }
    if constexpr (requires { job_.Neutral(std::int64_t{0}); }) {
      if (absl::Status status = TryNeutral(a); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  Vector Folded(Vector into, const Vector& from) const {
    fold_(job_, absl::MakeSpan(into), absl::MakeConstSpan(from));
    return into;
  }

  template <typename Same>
  static std::size_t FirstOf(const Vector& a, const Vector& b, Same same) {
    std::size_t at = 0;
    while (at < a.size() && same(a[at], b[at])) ++at;
    return at;
  }

  absl::Status TryParts(const Vector& a, const Vector& b, const Vector& whole) const {
    const std::size_t half = a.size() / 2;
    if (half == 0) return absl::OkStatus();
    Vector parts = a;
    fold_(job_, absl::MakeSpan(parts).first(half), absl::MakeConstSpan(b).first(half));
    fold_(job_, absl::MakeSpan(parts).subspan(half), absl::MakeConstSpan(b).subspan(half));
    const std::size_t at = FirstOf(whole, parts, SameBytes<Place>);
    if (at == whole.size()) return absl::OkStatus();
    return Lies(
        step_error::kDoesNotSplit,
        absl::StrCat("parts of an element must combine as the whole does, but place ", at,
                     " combines to '", Text(at, whole[at]), "' as part of the whole and to '",
                     Text(at, parts[at]), "' as part of a half"),
        "say kSplits = false in the job, so that its elements only combine whole");
  }

  absl::Status TryNeutral(const Vector& a) const {
    Vector neutral;
    for (std::size_t at = 0; at < a.size(); ++at) {
      neutral.push_back(job_.Neutral(static_cast<std::int64_t>(at)));
    }
    for (const bool first : {true, false}) {
      const Vector met = first ? Folded(neutral, a) : Folded(a, neutral);
      // 0.0 + -0.0 is 0.0: equal, if not the same bytes.
      const std::size_t at = FirstOf(a, met, [](const Place& x, const Place& y) {
        if constexpr (std::is_floating_point_v<Place>) {
          if (x == y) return true;
        }
        return SameBytes(x, y);
      });
      if (at == a.size()) continue;
      return Lies(step_error::kNotNeutral,
                  absl::StrCat("Neutral must change nothing, but at place ", at, " it makes '",
                               Text(at, met[at]), "' of '", Text(at, a[at]), "' as the ",
                               first ? "first" : "second", " operand"),
                  "make Neutral the identity of Combine");
    }
    return absl::OkStatus();
  }

  // What a part would say, or the bytes of the value.
  std::string Text(std::size_t at, const Place& value) const {
    std::string text;
    if constexpr (requires { job_.Format(std::int64_t{0}, value, text); }) {
      job_.Format(static_cast<std::int64_t>(at), value, text);
      if (!text.empty() && text.back() == '\n') text.pop_back();
    } else if constexpr (std::is_arithmetic_v<Place>) {
      absl::StrAppend(&text, value);
    } else {
      text = Encoded(value);
    }
    return Shown(text);
  }

  const Job& job_;
  const Fold fold_;
  const bool commutative_;
  const bool splits_;
};

/// Deals the records of the beginning to three partial results, in turn.
template <typename Job>
struct DealRecords {
  using Reader = typename Job::Reader;
  using Vector = std::vector<typename Job::Place>;
  Job job;
  std::array<Vector, 3> vectors;
  std::size_t records = 0;

  template <typename Record, typename Emit>
  void Map(const Record& record, Emit& emit) {
    job.Map(record, absl::MakeSpan(vectors[records++ % vectors.size()]), emit);
  }
};

}  // namespace operation_internal

/// Maps the beginning of the input into three partial results of a vector job and tries what
/// Combine must keep: another grouping gives the same (integers exactly, floating point numbers to
/// kGroupingTolerance of the largest number that took part, other places where the job says
/// Alike(a, b)), both halves combine as the whole does (kSplits), what Neutral makes changes
/// nothing where the job has it, and, where it declares kCommutative, the other order gives the
/// same bytes.
///
/// `start` is what a partial result holds before the first record, fold(job, into, from) folds one
///   into another.
/// Errors: StepError NOT_ASSOCIATIVE, DOES_NOT_SPLIT, NOT_NEUTRAL or NOT_COMMUTATIVE naming place
///   and both results.
/// Bounds: kInputBytes of input, vectors up to kVectorBytes, nine of them; larger ones, those that
///   would take more than half of the step's memory, and fewer than three records are not tried.
/// Checked by: tests/unit/jobs/operation_check_test.cc.
template <typename Job, typename Fold>
absl::Status CheckVectorOperation(const Job& job, const std::vector<typename Job::Place>& start,
                                  Fold fold, bool commutative, bool splits,
                                  absl::Span<const InputRange> ranges, StepContext& context) {
  operation_internal::DealRecords<Job> deal{job, {start, start, start}};
  EmitBase<Job> emit;
  operation_internal::MapBeginning<typename Job::Reader>(ranges, deal, emit, context);
  if (deal.records < deal.vectors.size() || emit.bad()) return absl::OkStatus();
  const operation_internal::VectorTrial<Job, Fold> trial(job, fold, commutative, splits);
  return trial.Try(deal.vectors[0], deal.vectors[1], deal.vectors[2]);
}

/// Whether vectors of so many bytes are small enough to be tried.
inline bool TriesVectorsOf(std::int64_t bytes, const StepContext& context) {
  constexpr std::int64_t kVectorsHeld = 9;
  return bytes <= operation_internal::kVectorBytes &&
         (context.memory_bytes() <= 0 || bytes * kVectorsHeld <= context.memory_bytes() / 2);
}

}  // namespace weir
