#pragma once

// What a job that is a loop must have, each said in a sentence where it is missing. Upstream:
// loop_program.h. Downstream: the author's class.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/types/span.h"
#include "jobs/engine/rules/record_rules.h"
#include "jobs/engine/rules/vector_rules.h"

namespace weir::loop_rules {

using namespace job_rules;  // of this folder; nobody includes it but the engine
using vector_rules::kCountsPlaces;
using vector_rules::kHasPlace;
using vector_rules::kPlaceTravels;

template <typename Job>
using Into = absl::Span<typename Job::Place>;
template <typename Job>
using From = absl::Span<const typename Job::Place>;

template <typename Job>
constexpr bool kHasResident = requires {
  typename Job::Resident;
};
template <typename Job>
constexpr bool kSizesResident = requires(const typename Job::Resident& resident,
                                         std::int64_t& bytes) {
  bytes = resident.memory_bytes();
};
template <typename Job>
constexpr bool kHasMeasure = requires(std::string_view name) {
  name = Job::kMeasure;
};
template <typename Job>
constexpr bool kCountsStatePlaces = requires(const Job& job, std::int64_t& places) {
  places = job.StatePlaces();
};
template <typename Job, typename Record>
constexpr bool kLoadsRecord = requires(Job& job, Record record, typename Job::Resident& resident,
                                       AnyEmit& emit) {
  job.Load(record, resident, emit);
};
template <typename Job>
constexpr bool kLoadsRecord<Job, void> = true;
template <typename Job>
constexpr bool kMapsResident = requires(const Job& job, typename Job::Resident& resident,
                                        From<Job> state, Into<Job> element) {
  job.Map(0, resident, state, element);
};
template <typename Job>
constexpr bool kCombinesElements = requires(const Job& job, Into<Job> into, From<Job> from) {
  job.Combine(0, into, from);
};

template <typename Job>
constexpr bool ElementWise() {
  if constexpr (requires { Job::kElementWise; }) {
    return Job::kElementWise;
  } else {
    return false;
  }
}
template <typename Job, bool kElementWise>
constexpr bool kUpdatesState = requires(const Job& job, From<Job> from, Into<Job> next) {
  job.Update(0, from, from, next);
};
template <typename Job>
constexpr bool kUpdatesState<Job, true> = requires(const Job& job, From<Job> from, Into<Job> next) {
  job.Update(0, std::int64_t{0}, from, from, next);
};
template <typename Job, bool kElementWise>
constexpr bool kFormatsState = requires(const Job& job, From<Job> state, std::string& out) {
  job.Format(state, out);
};
template <typename Job>
constexpr bool kFormatsState<Job, true> = requires(const Job& job, From<Job> state,
                                                   std::string& out) {
  job.Format(std::int64_t{0}, state, out);
};

/// What a loop keeps of its input.
template <typename Job>
constexpr bool CheckResident() {
  static_assert(kHasResident<Job>,
                "This loop has no Resident: write 'using Resident = MyRows;', what stays of the "
                "input with each thread that read it; it has 'std::int64_t memory_bytes() const'.");
  if constexpr (!kHasResident<Job>) {
    return false;
  } else {
    static_assert(kSizesResident<Job>,
                  "The Resident of this loop does not say what it holds: write 'std::int64_t "
                  "memory_bytes() const' in it, so that the step can end before the machine does.");
    constexpr bool kLoads = kLoadsRecord<Job, typename RecordOf<typename Job::Reader>::Type>;
    static_assert(kLoads,
                  "Load of this loop cannot be called with the records of its Reader: write "
                  "'template <typename Emit> void Load(record, Resident& resident, Emit& emit)', "
                  "with std::string_view for TextLines and FixedRecords, const weir::CsvRow& for "
                  "CsvRows, const weir::TextBlock& for Block.");
    static_assert(kMapsResident<Job>,
                  "Map of this loop cannot be called as Weir does: it must be public and const, as "
                  "'void Map(int iteration, const Resident& resident, absl::Span<const Place> "
                  "state, absl::Span<Place> element) const'.");
    return kSizesResident<Job> && kLoads && kMapsResident<Job>;
  }
}

/// What becomes of elements and states.
template <typename Job>
constexpr bool CheckPlaces() {
  constexpr bool kEach = ElementWise<Job>();
  static_assert(kCountsPlaces<Job> && kCountsStatePlaces<Job>,
                "This loop does not say how large it is: write 'std::int64_t Places() const' of an "
                "element and 'std::int64_t StatePlaces() const' of a state, public and const.");
  static_assert(kHasMeasure<Job>,
                "This loop does not name what Update measures: write 'static constexpr "
                "std::string_view kMeasure = \"loss\";', which progress shows.");
  static_assert(kCombinesElements<Job>,
                "Combine of this loop cannot be called as Weir does: it must be public and const, "
                "as 'void Combine(int iteration, absl::Span<Place> into, absl::Span<const Place> "
                "from) const'.");
  static_assert(kEach || kUpdatesState<Job, kEach>,
                "Update of this loop cannot be called as Weir does: it must be public and const, "
                "as 'absl::StatusOr<weir::LoopOutcome> Update(int iteration, absl::Span<const "
                "Place> state, absl::Span<const Place> element, absl::Span<Place> next) const'.");
  static_assert(!kEach || kUpdatesState<Job, kEach>,
                "Update of this loop cannot be called as Weir does where kElementWise is true: it "
                "must be public and const, as 'absl::StatusOr<weir::LoopOutcome> Update(int "
                "iteration, std::int64_t first_place, absl::Span<const Place> state, "
                "absl::Span<const Place> element, absl::Span<Place> next) const'.");
  static_assert(kEach || kFormatsState<Job, kEach>,
                "Format of this loop cannot be called as Weir does: it must be public and const, "
                "as 'void Format(absl::Span<const Place> state, std::string& out) const'.");
  static_assert(!kEach || kFormatsState<Job, kEach>,
                "Format of this loop cannot be called as Weir does where kElementWise is true: it "
                "must be public and const, as 'void Format(std::int64_t first_place, "
                "absl::Span<const Place> state, std::string& out) const'.");
  return kCountsPlaces<Job> && kCountsStatePlaces<Job> && kHasMeasure<Job> &&
         kCombinesElements<Job> && kUpdatesState<Job, kEach> && kFormatsState<Job, kEach>;
}

/// True when a job has what loop_program.h asks for; else the build fails with a sentence.
/// Checked by: tests/integration/job_rules_test.py (one wrong job a sentence).
template <typename Job>
constexpr bool Check() {
  static_assert(kHasPlace<Job>,
                "This loop has no Place: write 'using Place = double;' (or another type that may "
                "be copied as memory), what elements and states consist of.");
  if constexpr (!CheckIsCopied<Job>() || !CheckHasReader<Job>() || !kHasPlace<Job>) {
    return false;
  } else {
    constexpr bool kTravels = kPlaceTravels<typename Job::Place>;
    static_assert(kTravels,
                  "The Place of this loop cannot be copied as memory to another machine: use a "
                  "number or a struct of numbers; not bool, a pointer, a view or a string.");
    if constexpr (!kTravels) {
      return false;
    } else if constexpr (!CheckResident<Job>()) {
      return false;
    } else {
      return CheckPlaces<Job>();
    }
  }
}

}  // namespace weir::loop_rules
