#pragma once

// What of a step's result belongs to which consumer, in the words of the job's program. Upstream:
// orders, by keys or by places. Downstream: MapOrder, CombineOrder, ReduceOrder.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

/// Returns the upper ends of the consumers' ranges within the unit interval, rising, the last = 1:
/// how a step cuts its result. Consumers that follow one another with the very same places share an
/// end, and a section (SectionOfConsumers).
///
/// Model: a range of keys is one of the unit interval already; places [b, e) of an element of
///   `num_places` are [b, e) / num_places. What a step holds need not begin at 0 nor end at 1, so
///   that places in front of the first range belong to it, and those behind the last to the last.
/// Errors: kInvalidArgument (no range, ranges that do not rise or go beyond the element, a last
///   range of keys that ends below 1).
/// Checked by: tests/unit/task/key_ends_test.cc.
absl::StatusOr<std::vector<double>> KeyEnds(const v1::StepOrder& order, std::int64_t num_places);

/// Returns, by consumer of the order, the number of its section: of the range that it reads.
std::vector<int> SectionOfConsumers(const v1::StepOrder& order);

/// Returns the consumers [begin, end) of a section, given SectionOfConsumers: those who share one
/// follow one another. Empty for a number that no section has. O(log consumers), as a step may have
/// ten thousand of both.
std::pair<int, int> ConsumersOfSection(const std::vector<int>& section_of, int section);

}  // namespace weir::task
