#pragma once

// What a job whose result is a vector must have, each said in a sentence where it is missing.
// Upstream: vector_program.h. Downstream: the author's class.

#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/types/span.h"
#include "jobs/engine/rules/record_rules.h"

namespace weir::vector_rules {

using namespace job_rules;  // of this folder; nobody includes it but the engine

template <typename Job>
constexpr bool kHasPlace = requires {
  typename Job::Place;
};
/// Of vectors and of loops.
template <typename Place>
constexpr bool kPlaceTravels =
    std::is_trivially_copyable_v<Place> && !std::is_same_v<Place, bool> && !kPoints<Place>;

template <typename Job>
constexpr bool kCountsPlaces = requires(const Job& job, std::int64_t& places) {
  places = job.Places();
};
template <typename Job>
constexpr bool kCombinesPlaces = requires(const Job& job, typename Job::Place& into,
                                          const typename Job::Place& from) {
  job.Combine(into, from);
}
|| requires(const Job& job, absl::Span<typename Job::Place> into,
            absl::Span<const typename Job::Place> from) {
  job.Combine(into, from);
};
template <typename Job>
constexpr bool kFormatsPlaces = requires(const Job& job, const typename Job::Place& value,
                                         std::string& out) {
  job.Format(std::int64_t{0}, value, out);
}
|| requires(const Job& job, absl::Span<const typename Job::Place> values, std::string& out) {
  job.FormatAll(values, out);
};
template <typename Job, typename Record>
constexpr bool kMapsRecord = requires(Job& job, Record record,
                                      absl::Span<typename Job::Place> element, AnyEmit& emit) {
  job.Map(record, element, emit);
};
template <typename Job>
constexpr bool kMapsRecord<Job, void> = true;

/// What the members of a job with sound types do.
template <typename Job>
constexpr bool CheckMembers() {
  constexpr bool kMaps = kMapsRecord<Job, typename RecordOf<typename Job::Reader>::Type>;
  static_assert(kMaps,
                "Map of this vector job cannot be called with the records of its Reader: write "
                "'template <typename Emit> void Map(record, absl::Span<Place> element, Emit& "
                "emit)', with std::string_view for TextLines and FixedRecords, const "
                "weir::CsvRow& for CsvRows, const weir::TextBlock& for Block.");
  if constexpr (std::is_final_v<Job>) {
    return kMaps;  // nothing can be derived to see what it names
  } else {
    static_assert(kNamesPlaces<Job>,
                  "This vector job has no Places: write 'std::int64_t Places() const', how many "
                  "places the vector has, the same on every worker.");
    static_assert(!kNamesPlaces<Job> || kCountsPlaces<Job>,
                  "Places of this vector job cannot be called as Weir does: it must be public and "
                  "const, as 'std::int64_t Places() const'.");
    static_assert(kNamesCombine<Job>,
                  "This vector job has no Combine: write 'void Combine(Place& into, const Place& "
                  "from) const', or the same of absl::Span<Place> and absl::Span<const Place>.");
    static_assert(!kNamesCombine<Job> || kCombinesPlaces<Job>,
                  "Combine of this vector job cannot be called as Weir does: it must be public and "
                  "const, as 'void Combine(Place& into, const Place& from) const' or 'void "
                  "Combine(absl::Span<Place> into, absl::Span<const Place> from) const'.");
    static_assert(kNamesFormat<Job> || kNamesFormatAll<Job>,
                  "This vector job has neither Format nor FormatAll: write 'void "
                  "Format(std::int64_t place, const Place& value, std::string& out) const', which "
                  "appends one record of the output.");
    constexpr bool kNamesOne = kNamesFormat<Job> || kNamesFormatAll<Job>;
    static_assert(!kNamesOne || kFormatsPlaces<Job>,
                  "Format of this vector job cannot be called as Weir does: it must be public and "
                  "const, as 'void Format(std::int64_t place, const Place& value, std::string& "
                  "out) const' or 'void FormatAll(absl::Span<const Place> values, std::string& "
                  "out) const'.");
    return kMaps && kCountsPlaces<Job> && kCombinesPlaces<Job> && kFormatsPlaces<Job>;
  }
}

/// True when a job has what vector_program.h asks for; else the build fails with a sentence.
/// Checked by: tests/integration/job_rules_test.py (one wrong job a sentence).
template <typename Job>
constexpr bool Check() {
  static_assert(kHasPlace<Job>,
                "This vector job has no Place: write 'using Place = std::int64_t;' (or another "
                "type that may be copied as memory), what each place of its vector holds.");
  if constexpr (!CheckIsCopied<Job>() || !CheckHasReader<Job>() || !kHasPlace<Job>) {
    return false;
  } else {
    constexpr bool kTravels = kPlaceTravels<typename Job::Place>;
    static_assert(kTravels,
                  "The Place of this vector job cannot be copied as memory to another machine: use "
                  "a number or a struct of numbers; not bool, a pointer, a view or a string.");
    if constexpr (!kTravels) {
      return false;
    } else {
      return CheckMembers<Job>();
    }
  }
}

}  // namespace weir::vector_rules
