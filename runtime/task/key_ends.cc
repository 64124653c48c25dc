#include "runtime/task/key_ends.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::task {
namespace {

absl::StatusOr<double> EndOfKeys(const v1::StepConsumer& consumer, double last) {
  const double end = consumer.keys().end();
  if (consumer.has_keys() && end >= last && end <= 1) return end;
  return absl::InvalidArgumentError(
      absl::StrCat("the key ranges of consumers must rise from 0 to 1; ", end, " follows ", last,
                   " at step ", consumer.step()));
}

absl::StatusOr<double> EndOfPlaces(const v1::StepConsumer& consumer, std::int64_t num_places,
                                   double last) {
  const v1::IndexRange& places = consumer.indexes();
  const auto part = [num_places](std::int64_t place) {
    return static_cast<double>(place) / static_cast<double>(num_places);
  };
  if (places.begin() >= 0 && places.begin() <= places.end() && places.end() <= num_places &&
      num_places > 0 && part(places.begin()) >= last) {
    return part(places.end());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the places of consumers must rise from 0 to ", num_places, "; [",
                   places.begin(), ", ", places.end(), ") of step ", consumer.step(), " follow ",
                   last * static_cast<double>(num_places)));
}

bool SamePlaces(const v1::StepConsumer& a, const v1::StepConsumer& b) {
  return a.has_indexes() && b.has_indexes() && a.indexes().begin() == b.indexes().begin() &&
         a.indexes().end() == b.indexes().end();
}

}  // namespace

std::vector<int> SectionOfConsumers(const v1::StepOrder& order) {
  std::vector<int> section;
  for (int i = 0; i < order.consumers_size(); ++i) {
    const bool shared = i > 0 && SamePlaces(order.consumers(i - 1), order.consumers(i));
    section.push_back(i == 0 ? 0 : section.back() + (shared ? 0 : 1));
  }
  return section;
}

std::pair<int, int> ConsumersOfSection(const std::vector<int>& section_of, int section) {
  const auto [begin, end] = std::equal_range(section_of.begin(), section_of.end(), section);
  return {static_cast<int>(begin - section_of.begin()), static_cast<int>(end - section_of.begin())};
}

absl::StatusOr<std::vector<double>> KeyEnds(const v1::StepOrder& order, std::int64_t num_places) {
  std::vector<double> ends;
  double last = 0;
  for (int i = 0; i < order.consumers_size(); ++i) {
    const v1::StepConsumer& consumer = order.consumers(i);
    if (i > 0 && SamePlaces(order.consumers(i - 1), consumer)) continue;
    const absl::StatusOr<double> end = consumer.has_indexes()
                                           ? EndOfPlaces(consumer, num_places, last)
                                           : EndOfKeys(consumer, last);
    if (!end.ok()) return end.status();
    last = *end;
    ends.push_back(last);
  }
  const bool by_places = !order.consumers().empty() && order.consumers().rbegin()->has_indexes();
  if (by_places) {
    ends.back() = 1;
  } else if (last != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key ranges of the consumers end at ", last, ", not at 1"));
  }
  return ends;
}

}  // namespace weir::task
