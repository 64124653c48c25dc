#include "runtime/master/conduct/order_builder.h"

#include <cmath>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

/// Maps 0 and 1 on workers 0 and 1, reduces 0 and 1 on the same; one transfer from map 0 to
/// reduce 1.
planner::Plan TwoByTwo() {
  planner::Plan plan;
  plan.network.num_workers = 2;
  plan.network.seconds_per_byte = 1e-6;
  plan.network.pacing_fraction = 0.9;
  for (int layer = 0; layer < 2; ++layer) {
    for (int index = 0; index < 2; ++index) {
      planner::ComputeStep step;
      step.kind = layer == 0 ? planner::StepKind::kMap : planner::StepKind::kReduce;
      step.layer = layer;
      step.index_in_layer = index;
      step.worker = index;
      step.input_begin = layer == 0 ? 50 * index : 0;
      step.input_end = layer == 0 ? 50 * (index + 1) : 0;
      step.key_end = layer == 0 ? 0 : std::nextafter(0.5 * (index + 1), 0);
      plan.steps.push_back(step);
    }
  }
  for (int map = 0; map < 2; ++map) {
    for (int reduce = 2; reduce < 4; ++reduce) plan.sections.push_back({map, reduce, 100});
  }
  planner::Transfer transfer;
  transfer.producer = 0;
  transfer.consumer = 3;
  transfer.sender = 0;
  transfer.receiver = 1;
  plan.transfers.push_back(transfer);
  return plan;
}

class OrderBuilderTest : public ::testing::Test {
 protected:
  OrderBuilderTest() {
    for (int w = 0; w < 2; ++w) {
      RegisteredWorker& worker = workers_.emplace_back();
      worker.identity.set_name("worker-" + std::to_string(w));
      worker.identity.set_data_endpoint("host" + std::to_string(w) + ":7002");
    }
    v1::RunInfo run;
    run.set_run_id("0.1");
    run.set_path("/runs/0.1.run");
    runs_.Add({0, 1}, run);
  }
  const planner::Plan plan_ = TwoByTwo();
  const InputRanges input_{{{{"/a", 60}, {"/b", 40}}, 100}};
  std::vector<RegisteredWorker> workers_;
  PublishedRuns runs_;
  OrderBuilder builder_{
      plan_, input_, workers_, OutputPlaces("/out", "j-1"), 3, GrantOptions{77, 0.5, 4096}, runs_};
};

// What trying takes is for nothing where no run crosses a network.
TEST_F(OrderBuilderTest, CodecsAreTriedWhereWorkersAreOfSeveralHosts) {
  EXPECT_FALSE(builder_.BuildStep(StepStart{1}).no_codec_trials());
  workers_[0].identity.set_handover_domain("one");
  workers_[1].identity.set_handover_domain("other");
  EXPECT_FALSE(builder_.BuildStep(StepStart{1}).no_codec_trials());
  workers_[1].identity.set_handover_domain("one");
  EXPECT_TRUE(builder_.BuildStep(StepStart{1}).no_codec_trials());
}

TEST_F(OrderBuilderTest, MapReadsItsRangesAndCutsKeysToTheEnd) {
  const v1::StepOrder order = builder_.BuildStep(StepStart{1});
  EXPECT_EQ(order.kind(), v1::STEP_KIND_MAP);
  EXPECT_EQ(order.label(), "map 1");
  EXPECT_EQ(order.index_in_layer(), 1);
  ASSERT_EQ(order.ranges_size(), 2);
  EXPECT_EQ(order.ranges(0).path(), "/a");
  EXPECT_EQ(order.ranges(0).begin(), 50);
  ASSERT_EQ(order.consumers_size(), 2);
  EXPECT_EQ(order.consumers(0).step(), 2);
  EXPECT_EQ(order.consumers(1).step(), 3);
  EXPECT_EQ(order.consumers(1).keys().end(), 1.0)
      << "rounding must not leave the last keys without owner";
  EXPECT_TRUE(order.part_path().empty());
}

TEST_F(OrderBuilderTest, WhatIsCountedByCostIsReadWhereItLies) {
  planner::Plan plan = plan_;
  plan.input_part_ends = {75, 100};  // of two halves
  const OrderBuilder builder(plan, input_, workers_, OutputPlaces("/out", "j-1"), 3, {}, runs_);
  const v1::StepOrder first = builder.BuildStep(StepStart{0});
  ASSERT_EQ(first.ranges_size(), 1);
  EXPECT_EQ(first.ranges(0).end(), 33) << "two thirds of the dear half";
  const v1::StepOrder second = builder.BuildStep(StepStart{1});
  ASSERT_EQ(second.ranges_size(), 2);
  EXPECT_EQ(second.ranges(0).begin(), 33);
  EXPECT_EQ(second.ranges(1).end(), 40) << "to the end of the input";
}

// Map 1 is made again for reduce 3 alone: its keys begin where those of reduce 2 end in every other
// map, to the bit.
TEST_F(OrderBuilderTest, WhatIsMadeAgainForSomeDividesKeysAsTheOthers) {
  planner::Plan plan = TwoByTwo();
  plan.steps[3].key_begin = plan.steps[2].key_end;
  std::erase_if(plan.sections,
                [](const auto& section) { return section.producer == 1 && section.consumer == 2; });
  const OrderBuilder builder{
      plan, input_, workers_, OutputPlaces("/out", "j-1"), 3, GrantOptions{77, 0.5, 4096}, runs_};
  const v1::StepOrder whole = builder.BuildStep(StepStart{0});
  const v1::StepOrder order = builder.BuildStep(StepStart{1});
  ASSERT_EQ(order.consumers_size(), 2);
  EXPECT_EQ(order.consumers(0).step(), -1) << "nobody";
  EXPECT_EQ(order.consumers(0).keys().end(), whole.consumers(0).keys().end());
  EXPECT_EQ(order.consumers(1).step(), 3);
  EXPECT_EQ(order.consumers(1).keys().end(), 1.0);
}

TEST_F(OrderBuilderTest, WhatIsMadeAgainForTheFirstDividesKeysAsTheOthers) {
  planner::Plan plan = TwoByTwo();
  plan.steps[3].key_begin = plan.steps[2].key_end;
  std::erase_if(plan.sections,
                [](const auto& section) { return section.producer == 1 && section.consumer == 3; });
  const OrderBuilder builder{
      plan, input_, workers_, OutputPlaces("/out", "j-1"), 3, GrantOptions{77, 0.5, 4096}, runs_};
  const v1::StepOrder order = builder.BuildStep(StepStart{1});
  ASSERT_EQ(order.consumers_size(), 2);
  EXPECT_EQ(order.consumers(0).step(), 2);
  EXPECT_EQ(order.consumers(0).keys().end(), plan.steps[2].key_end);
  EXPECT_EQ(order.consumers(1).step(), -1);
  EXPECT_EQ(order.consumers(1).keys().end(), 1.0);
}

TEST_F(OrderBuilderTest, LastReduceWritesAPartOfItsAttempt) {
  StepStart start{3, {{0, SectionPlace::kReceived, 32, 500}, {1, SectionPlace::kOwnRun, 0, 9}}};
  start.attempt = 2;
  const v1::StepOrder order = builder_.BuildStep(start);
  EXPECT_EQ(order.kind(), v1::STEP_KIND_REDUCE);
  EXPECT_EQ(order.part_path(), "/out.weir-staging-j-1/part-00001.3.2");
  ASSERT_EQ(order.inputs_size(), 2);
  EXPECT_EQ(order.inputs(0).run_id(), "0.1");
  EXPECT_EQ(order.inputs(0).place(), v1::SECTION_PLACE_RECEIVED);
  EXPECT_EQ(order.inputs(0).offset(), 32);
  EXPECT_EQ(order.inputs(1).place(), v1::SECTION_PLACE_OWN_RUN);
  EXPECT_TRUE(order.consumers().empty());
}

TEST_F(OrderBuilderTest, GrantNamesSenderPieceAndPace) {
  TransferStart start;
  start.transfer = 0;
  start.offset = 132;
  start.bytes = 400;
  start.section_offset = 32;
  start.section_bytes = 500;
  v1::TransferGrant grant = builder_.BuildGrant(start, 0);
  EXPECT_EQ(grant.source_endpoint(), "host0:7002");
  EXPECT_EQ(grant.source_worker(), "worker-0");
  EXPECT_EQ(grant.run_id(), "0.1");
  EXPECT_EQ(grant.offset(), 132);
  EXPECT_EQ(grant.section_bytes(), 500);
  EXPECT_EQ(grant.job_token(), 77u);
  EXPECT_EQ(grant.pacing_bytes_per_s(), 900'000);
  EXPECT_EQ(grant.look_ahead_bytes(), 200) << "never more than half a transfer ahead";
  EXPECT_TRUE(grant.source_run_path().empty());
  EXPECT_EQ(grant.grant_ahead_bytes(), 200);
  start.bytes = 1 << 20;
  grant = builder_.BuildGrant(start, 0.002);
  EXPECT_EQ(grant.look_ahead_bytes(), 4096);
  EXPECT_EQ(grant.grant_ahead_bytes(), 4096 + 2000) << "what comes in 2 ms at 1 MB/s";
  EXPECT_EQ(builder_.BuildGrant(start, 100).grant_ahead_bytes(), 1 << 19);
  start.handover = true;
  grant = builder_.BuildGrant(start, 0.002);
  EXPECT_EQ(grant.source_run_path(), "/runs/0.1.run");
  EXPECT_EQ(grant.look_ahead_bytes(), 0);
  EXPECT_EQ(grant.grant_ahead_bytes(), 0);
}

TEST_F(OrderBuilderTest, FetchesFromAllAreNotPaced) {
  TransferStart start;
  start.transfer = 0;
  start.bytes = 1 << 20;
  start.concurrent = true;
  const v1::TransferGrant grant = builder_.BuildGrant(start, 0.002);
  EXPECT_EQ(grant.pacing_bytes_per_s(), 0);
  EXPECT_EQ(grant.grant_ahead_bytes(), 0);
  EXPECT_EQ(grant.look_ahead_bytes(), 0);
}

/// Two layers of reducers on one worker, the second stored by one write step.
planner::Plan StoredChain() {
  planner::Plan plan;
  plan.network.num_workers = 1;
  for (int layer = 0; layer < 4; ++layer) {
    planner::ComputeStep step;
    step.kind = layer == 0   ? planner::StepKind::kMap
                : layer == 3 ? planner::StepKind::kWrite
                             : planner::StepKind::kReduce;
    step.layer = layer;
    step.key_end = 1;
    plan.steps.push_back(step);
    if (layer > 0) plan.sections.push_back({layer - 1, layer, 10});
  }
  return plan;
}

TEST(OrderBuilderStoreTest, StoredReducersMakeTextForTheirWriteStep) {
  const planner::Plan plan = StoredChain();
  const InputRanges input{{{{"/a", 60}}, 60}};
  const std::vector<RegisteredWorker> workers(1);
  PublishedRuns runs;
  const OrderBuilder builder(plan, input, workers, OutputPlaces("/out", "j-1"), 1, {}, runs);
  v1::RunInfo run;
  run.set_run_id("0.1");
  runs.Add({0, 1}, run);
  const v1::StepOrder first = builder.BuildStep(StepStart{1});
  EXPECT_FALSE(first.text());
  ASSERT_EQ(first.consumers_size(), 1);
  EXPECT_EQ(first.consumers(0).step(), 2);
  EXPECT_TRUE(first.unread_runs().empty());
  StepStart second{2};
  second.unread = {{0, 1}};
  const v1::StepOrder last = builder.BuildStep(second);
  EXPECT_EQ(last.kind(), v1::STEP_KIND_REDUCE);
  EXPECT_TRUE(last.text());
  ASSERT_EQ(last.consumers_size(), 1);
  EXPECT_EQ(last.consumers(0).step(), 3);
  EXPECT_TRUE(last.part_path().empty());
  ASSERT_EQ(last.unread_runs_size(), 1) << "the mapper's run has been read";
  EXPECT_EQ(last.unread_runs(0), "0.1");
  EXPECT_FALSE(builder.WritesPart(2));
  const v1::StepOrder write = builder.BuildStep(StepStart{3, {{2, SectionPlace::kOwnRun, 0, 9}}});
  EXPECT_EQ(write.kind(), v1::STEP_KIND_WRITE);
  EXPECT_EQ(write.part_path(), "/out.weir-staging-j-1/part-00000.1.1");
  EXPECT_EQ(write.inputs_size(), 1);
  EXPECT_EQ(builder.StepName(2), "layer 2 reduce 0");
  EXPECT_EQ(builder.StepName(3), "write 0");
}

TEST(OrderBuilderIndexTest, SectionsByIndexAreListedByRisingRange) {
  planner::Plan plan;
  plan.network.num_workers = 1;
  plan.steps.resize(3);
  plan.steps[1].kind = plan.steps[2].kind = planner::StepKind::kCombine;
  plan.sections = {{0, 1, 80, planner::IndexRange{10, 20}}, {0, 2, 80, planner::IndexRange{0, 10}}};
  const InputRanges input{{{{"/a", 60}}, 60}};
  const std::vector<RegisteredWorker> workers(1);
  const PublishedRuns runs;
  const OrderBuilder builder(plan, input, workers, OutputPlaces("/out", "j-1"), 1, {}, runs);
  const v1::StepOrder order = builder.BuildStep(StepStart{0});
  ASSERT_EQ(order.consumers_size(), 2);
  EXPECT_EQ(order.consumers(0).step(), 2);
  EXPECT_EQ(order.consumers(0).indexes().end(), 10);
  EXPECT_EQ(order.consumers(1).step(), 1);
  EXPECT_EQ(order.consumers(1).indexes().begin(), 10);
}

TEST(OrderBuilderCodecTest, CombinedRunsArePackedAsWhatTheyAreMadeOf) {
  planner::Plan plan;
  plan.network.num_workers = 1;
  plan.steps.resize(3);
  plan.steps[1].kind = planner::StepKind::kCombine;
  plan.steps[2].kind = planner::StepKind::kReduce;
  plan.steps[1].layer = plan.steps[2].layer = 1;
  plan.steps[2].key_end = 1;
  plan.sections = {{0, 1, 80, planner::IndexRange{0, 10}}, {1, 2, 80, planner::IndexRange{0, 10}}};
  plan.run_codec = {planner::Codec::kZstd};
  const InputRanges input{{{{"/a", 60}}, 60}};
  const std::vector<RegisteredWorker> workers(1);
  const PublishedRuns runs;
  const OrderBuilder builder(plan, input, workers, OutputPlaces("/out", "j-1"), 1, {}, runs);
  EXPECT_EQ(builder.BuildStep(StepStart{0}).codec(), v1::CODEC_ZSTD);
  EXPECT_EQ(builder.BuildStep(StepStart{1}).codec(), v1::CODEC_ZSTD);
}

TEST_F(OrderBuilderTest, NamesAreWhatPeopleRead) {
  EXPECT_EQ(builder_.StepName(1), "map 1");
  EXPECT_EQ(builder_.TransferName(0), "transfer of map 0 to reduce 1");
}

TEST_F(OrderBuilderTest, ATransferWithARateIsPacedAtItBesideOthers) {
  TransferStart start;
  start.transfer = 0;
  start.bytes = 100'000;
  start.concurrent = true;
  start.rate_bytes_per_s = 123'456.7;
  const v1::TransferGrant grant = builder_.BuildGrant(start, 0.01);
  EXPECT_TRUE(grant.concurrent());
  EXPECT_EQ(grant.pacing_bytes_per_s(), 123'456) << "never above its rate";
  EXPECT_EQ(grant.look_ahead_bytes(), 0);
  EXPECT_EQ(grant.grant_ahead_bytes(), 0);
  start.handover = true;
  EXPECT_EQ(builder_.BuildGrant(start, 0.01).pacing_bytes_per_s(), 0) << "a link needs no pace";
}

TEST_F(OrderBuilderTest, AnOrderThatNoMessageCarriesIsTheJobsFaultAndSaysWhy) {
  v1::StepOrder order;
  order.set_label("map 3");
  // As long as paths may be.
  const std::string path(4000, 'p');
  while (order.ranges_size() < 10'000) order.add_ranges()->set_path(path);
  EXPECT_FALSE(OrderBuilder::TooLong(order)) << order.ByteSizeLong();
  while (order.ranges_size() < 16'000) order.add_ranges()->set_path(path);
  const std::optional<v1::JobError> error = OrderBuilder::TooLong(order);
  ASSERT_TRUE(error) << order.ByteSizeLong();
  EXPECT_EQ(error->code(), job_error::kInvalidJob);
  EXPECT_EQ(error->step(), "map 3");
  EXPECT_NE(error->message().find("parts of 16000 files"), std::string::npos) << error->message();
  EXPECT_NE(error->advice().find("--mappers"), std::string::npos) << error->advice();
}

}  // namespace
}  // namespace weir::master
