#include "runtime/task/key_ends.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "jobs/api/element.h"

namespace weir::task {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void AddPlaces(v1::StepOrder& order, std::int64_t begin, std::int64_t end) {
  v1::StepConsumer& consumer = *order.add_consumers();
  consumer.set_step(order.consumers_size());
  consumer.mutable_indexes()->set_begin(begin);
  consumer.mutable_indexes()->set_end(end);
}

void AddKeys(v1::StepOrder& order, double begin, double end) {
  v1::StepConsumer& consumer = *order.add_consumers();
  consumer.mutable_keys()->set_begin(begin);
  consumer.mutable_keys()->set_end(end);
}

TEST(KeyEnds, KeysAreTakenAsTheyAre) {
  v1::StepOrder order;
  AddKeys(order, 0, 0.25);
  AddKeys(order, 0.25, 1);
  EXPECT_THAT(*KeyEnds(order, kTablePlaces), ElementsAre(0.25, 1));
}

TEST(KeyEnds, PlacesArePartsOfTheElement) {
  v1::StepOrder order;
  AddPlaces(order, 0, 2);
  AddPlaces(order, 2, 2);
  AddPlaces(order, 2, 8);
  EXPECT_THAT(*KeyEnds(order, 8), ElementsAre(0.25, 0.25, 1));
}

TEST(KeyEnds, WhatAStepHoldsNeedNotBeginAtTheFirstPlaceNorEndAtTheLast) {
  v1::StepOrder order;
  AddPlaces(order, 2, 3);
  AddPlaces(order, 5, 6);
  EXPECT_THAT(*KeyEnds(order, 8), ElementsAre(0.375, 1));
}

TEST(KeyEnds, OneMayGoByPlacesAndTheNextByKeys) {
  v1::StepOrder order;
  AddPlaces(order, 0, kTablePlaces / 4);
  AddKeys(order, 0.25, 1);
  EXPECT_THAT(*KeyEnds(order, kTablePlaces), ElementsAre(0.25, 1));
}

TEST(KeyEnds, ConsumersOfTheSamePlacesShareASection) {
  v1::StepOrder order;
  AddPlaces(order, 0, 4);
  AddPlaces(order, 0, 4);
  AddPlaces(order, 4, 4);
  AddPlaces(order, 4, 8);
  AddPlaces(order, 4, 8);
  AddPlaces(order, 4, 8);
  EXPECT_THAT(*KeyEnds(order, 8), ElementsAre(0.5, 0.5, 1));
  EXPECT_THAT(SectionOfConsumers(order), ElementsAre(0, 0, 1, 2, 2, 2));
  v1::StepOrder keys;
  AddKeys(keys, 0.5, 0.5);
  AddKeys(keys, 0.5, 0.5);
  EXPECT_THAT(SectionOfConsumers(keys), ElementsAre(0, 1)) << "key ranges have one reader each";
}

TEST(KeyEnds, EachConsumerIsLookedAtForItsOwnSectionAlone) {
  EXPECT_EQ(ConsumersOfSection({0, 0, 1, 2, 2, 2}, 0), std::pair(0, 2));
  EXPECT_EQ(ConsumersOfSection({0, 0, 1, 2, 2, 2}, 2), std::pair(3, 6));
  const auto [begin, end] = ConsumersOfSection({0, 0, 1}, 2);
  EXPECT_EQ(begin, end) << "no section has this number";
  // As many as a layer may have reducers.
  v1::StepOrder order;
  constexpr int kConsumers = 10'000;
  for (int i = 0; i < kConsumers; ++i) AddPlaces(order, i / 2, i / 2 + 1);
  const std::vector<int> section_of = SectionOfConsumers(order);
  int looks = 0;
  for (int section = 0; section <= section_of.back(); ++section) {
    const auto [first, behind] = ConsumersOfSection(section_of, section);
    for (int consumer = first; consumer < behind; ++consumer, ++looks) {
      ASSERT_EQ(section_of[static_cast<std::size_t>(consumer)], section);
    }
  }
  EXPECT_EQ(looks, kConsumers);
}

TEST(KeyEnds, PlacesThatFallOrGoBeyondTheElementAreRefused) {
  v1::StepOrder falls;
  AddPlaces(falls, 0, 4);
  AddPlaces(falls, 3, 8);
  EXPECT_THAT(std::string(KeyEnds(falls, 8).status().message()), HasSubstr("[3, 8)"));
  v1::StepOrder beyond;
  AddPlaces(beyond, 0, 9);
  EXPECT_EQ(KeyEnds(beyond, 8).status().code(), absl::StatusCode::kInvalidArgument);
  v1::StepOrder backwards;
  AddPlaces(backwards, 5, 4);
  EXPECT_EQ(KeyEnds(backwards, 8).status().code(), absl::StatusCode::kInvalidArgument);
  v1::StepOrder none;
  none.add_consumers();
  EXPECT_EQ(KeyEnds(none, 8).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::task
