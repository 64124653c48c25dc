// What a sample asks of workers and what it concludes: against workers of a known model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/master/learning/data_seen.h"
#include "runtime/master/learning/key_growth.h"
#include "runtime/master/sample/map_cost.h"
#include "runtime/master/sample/sample_design.h"
#include "runtime/master/sample/sample_machine.h"
#include "tests/unit/master/sample_inputs.h"

namespace weir::master {
namespace {

/// Workers that take o + A x and make c x^beta bytes, at most two a byte, spread over the keys by
/// `weight`.
struct Model {
  double overhead_s = 1e-3;
  double map_seconds_per_byte = 2e-8;
  double map_seconds_per_output_byte = 0;
  double growth = 0.5;
  double reduce_seconds_per_byte = 1e-6;
  bool all_in_one_bucket = false;
  /// For each file that a map step opens, and each reduce step.
  double start_s = 0;
  /// Mappers combine the records of a key, one a ten bytes; output is ten bytes for each key of
  /// the bytes that differ.
  std::optional<KeyLaw> law = std::nullopt;
  /// Of a record that was reduced, the key of the next layer; output is ten bytes for each.
  std::optional<KeyLaw> behind = std::nullopt;
  /// What else the machine does takes so long of the large map step.
  double waited_s = 0;
  std::optional<v1::JobShapeLearned::DataSeen> known = std::nullopt;
  /// Workers measure their processor time: all of a step but what others had and disks took.
  bool knows_cpu = false;
  /// Of all steps: how many times as long they take because processors are others' as well.
  double shared = 1;
  /// What the disk takes for the large map step.
  double disk_s = 0;
  /// Slots that share a core, as the master knows.
  std::vector<double> slots_a_core = {1, 1};
  /// By which the master counts.
  std::vector<double> compute_rates = {1, 1};
  /// The second worker's part of the input has so many times the records and keys.
  double denser = 1;
  /// What the first step of each process takes by chance, of no processor.
  double first_s = 0;
  /// What closing takes of parts of more than a few records.
  double closing_s = 0;
  /// What a byte of the first half megabyte of a step takes beside.
  double until_at_speed_s = 0;
  bool cut_anywhere = false;
};

constexpr double kInputBytes = 1e9;

v1::JobShapeLearned Conclude(const Model& model, int num_layers,
                             std::vector<InputFile> files = {{"/a", 1'000'000'000}},
                             double files_per_slot = 1) {
  const auto design = DesignSample(Files(std::move(files)), 2, 1, {});
  SampleMachine machine(*design, {num_layers,
                                  model.compute_rates,
                                  1e-3,
                                  1e-3,
                                  {1, 1},
                                  files_per_slot,
                                  model.law.has_value(),
                                  model.known,
                                  kInputBytes,
                                  model.slots_a_core,
                                  model.cut_anywhere});
  double now_s = 5;
  std::vector<SampleOrder> orders = machine.Begin(now_s);
  while (!machine.finished()) {
    EXPECT_EQ(orders.size(), 2u);
    std::vector<SampleOrder> next;
    double took_s = 0;
    for (const SampleOrder& order : orders) {
      double bytes = 0;
      double bytes_that_differ = 0;
      std::set<std::string> opened;
      std::set<std::int64_t> begins;
      for (const v1::InputRange& range : order.order.ranges()) {
        bytes += static_cast<double>(range.end() - range.begin());
        if (begins.insert(range.begin()).second) bytes_that_differ = bytes;
        opened.insert(range.path());
      }
      for (const v1::StepInput& input : order.order.inputs())
        bytes += static_cast<double>(input.bytes());
      const bool map = order.order.kind() == v1::STEP_KIND_MAP;
      if (order.worker == 1 && map) bytes_that_differ *= model.denser;
      const double output = !map && model.behind ? 10 * DistinctKeys(*model.behind, bytes / 10)
                            : !map               ? bytes / 2
                            : model.law ? 10 * DistinctKeys(*model.law, bytes_that_differ / 10)
                                        : std::min(2 * bytes, 1000 * std::pow(bytes, model.growth));
      const bool large = map && bytes_that_differ > 2e6;
      double waited_s = large ? model.waited_s : 0;
      const double disk_s = large ? model.disk_s : map && bytes < 5000 ? model.first_s : 0;
      took_s = model.overhead_s +
               bytes * (map ? model.map_seconds_per_byte : model.reduce_seconds_per_byte) +
               (map ? output * model.map_seconds_per_output_byte : 0) +
               (map ? std::min(bytes, 5e5) * model.until_at_speed_s : 0) +
               model.start_s * (map ? static_cast<double>(opened.size()) : 1) + waited_s + disk_s;
      waited_s += (model.shared - 1) * took_s;
      took_s *= model.shared;
      const bool closes = order.order.consumers().empty() && bytes > 5000;
      const double closing_s = closes ? model.closing_s : 0;
      v1::StepResult result;
      if (model.law) {
        result.set_input_records(
            static_cast<std::int64_t>(bytes / 10 * (order.worker == 1 && map ? model.denser : 1)));
        result.set_output_records(static_cast<std::int64_t>(output / 10));
      }
      if (model.knows_cpu) result.set_cpu_s(took_s - waited_s - disk_s);
      took_s += closing_s;
      result.set_run_s(took_s);
      result.set_closing_s(closing_s);
      result.set_waited_s(waited_s);
      result.set_step(order.order.step());
      if (order.order.consumers().empty()) {
        result.mutable_part()->set_bytes(static_cast<std::int64_t>(output));
      } else {
        double begin = 0;
        std::int64_t offset = 0;
        for (int k = 0; k < order.order.consumers_size(); ++k) {
          const double end = order.order.consumers(k).keys().end();
          // All keys in one bucket: in the first thousandth.
          const auto below = [&](double key) {
            return model.all_in_one_bucket ? std::min(1.0, key * 1000) : key;
          };
          v1::RunSection& section = *result.mutable_run()->add_sections();
          const auto net = static_cast<std::int64_t>((below(end) - below(begin)) * output);
          section.set_consumer_step(k);
          section.set_offset(offset);
          section.set_bytes(net > 0 ? net + 32 : 0);
          section.set_records(net / 10);
          offset += section.bytes();
          begin = end;
        }
        TryLz4(order.order, map ? 0.3 : 0.7, *result.mutable_run());
      }
      EXPECT_TRUE(machine.under_way(result.step()));
      const auto more = machine.StepDone(result, now_s + took_s);
      EXPECT_TRUE(more.ok()) << more.status();
      EXPECT_FALSE(machine.StepDone(result, now_s + took_s).ok()) << "a step is done once";
      if (more.ok()) next.insert(next.end(), more->begin(), more->end());
    }
    now_s += took_s;
    orders = std::move(next);
  }
  return machine.Shape();
}

TEST(SampleMachineTest, FindsRatesAndGrowthOfTheModel) {
  const v1::JobShapeLearned shape = Conclude({}, 2);
  EXPECT_NEAR(shape.map_seconds_per_byte(), 2e-8 + 0.5 * BeyondCaches(2e6, 1e8), 1e-11);
  EXPECT_NEAR(shape.map_output_growth(), 0.5, 0.02);
  EXPECT_NEAR(shape.map_output_at_bytes(), 4'000'000, 10'000);
  EXPECT_NEAR(shape.map_output_ratio(), 1000 / std::sqrt(4e6), 0.01);
  ASSERT_EQ(shape.layers_size(), 2);
  EXPECT_NEAR(shape.layers(0).reduce_seconds_per_byte(), 1e-6, 1e-8);
  EXPECT_EQ(shape.layers(0).key_end_size(), 0);
  EXPECT_NEAR(shape.layers(1).output_ratio(), 0.5, 0.01);
  for (const auto& [layer, ratio] : {std::pair(0, 0.3), std::pair(1, 0.7)}) {
    ASSERT_EQ(shape.layers(layer).codecs_size(), 1);
    EXPECT_EQ(shape.layers(layer).codecs(0).codec(), v1::CODEC_LZ4);
    EXPECT_NEAR(shape.layers(layer).codecs(0).ratio(), ratio, 1e-9);
  }
}

TEST(SampleMachineTest, TellsWhatOutputCostsBesideInput) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  model.map_seconds_per_output_byte = 5e-8;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  EXPECT_NEAR(shape.map_seconds_per_byte(), 2e-8, 3e-10);
  EXPECT_NEAR(shape.map_seconds_per_output_byte(), 5e-8, 1e-9);
}

TEST(SampleMachineTest, StepsAsLongAsTheirOverheadTellWhereKeysComeAgain) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  model.map_seconds_per_byte = 3e-10;  // 1.2 ms of the large step, 0.9 more than of the small one
  EXPECT_NEAR(Conclude(model, 1).map_seconds_per_byte(), 3e-10, 1e-11);
}

TEST(SampleMachineTest, KeysThatAreAllThereTellByBeingFoundAgain) {
  Model model;
  model.disk_s = 5e-3;  // of the large sample alone
  model.law = KeyLaw{1, 400};
  const double found = Conclude(model, 1).map_seconds_per_byte();
  EXPECT_GT(found, 2.01e-8);
  EXPECT_LT(found, 2.1e-8) << "of its 0.2e-8 s a byte beyond";
  model.law = KeyLaw{1, 4000};
  EXPECT_LT(Conclude(model, 1).map_seconds_per_byte(), 0.85 * found) << "in a table that is sparse";
}

TEST(SampleMachineTest, FindsTheLawOfTheKeys) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  const v1::JobShapeLearned shape = Conclude(model, 1);
  ASSERT_TRUE(shape.has_map_keys());
  EXPECT_NEAR(shape.map_keys().exponent(), 1, 0.02);
  EXPECT_NEAR(shape.map_keys().keys(), 100'000, 5'000);
  EXPECT_NEAR(shape.map_keys().records_per_byte(), 0.1, 1e-3);
}

TEST(SampleMachineTest, KeysBehindTheFirstLayerMeetAgainInTheJob) {
  Model model;
  model.law = KeyLaw{0, 1e12};  // 1e8 records of the job, each of its own key
  model.behind = KeyLaw{0, 1e7};
  const v1::JobShapeLearned shape = Conclude(model, 2);
  ASSERT_EQ(shape.layers_size(), 2);
  const double of_reducer = DistinctKeys(*model.behind, 5e7);
  EXPECT_NEAR(shape.layers(0).output_ratio(), of_reducer / 5e7, 0.02);
  const double met = DistinctKeys(*model.behind, 1e8) / (2 * of_reducer);
  EXPECT_NEAR(shape.layers(1).output_ratio(), met, 0.05);
  EXPECT_NEAR(shape.layers(0).reduce_seconds_per_byte(), 1e-6 * ReducePartOf(of_reducer / 5e7),
              3e-8);
  model.behind = KeyLaw{0, 1e12};
  EXPECT_NEAR(Conclude(model, 2).layers(0).output_ratio(), 1, 0.02);
}

TEST(SampleMachineTest, WhatOthersDidCountsEvenlyForAllOfTheSample) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  model.map_seconds_per_output_byte = 5e-8;
  const v1::JobShapeLearned quiet = Conclude(model, 1);
  model.waited_s = 0.5;
  const v1::JobShapeLearned busy = Conclude(model, 1);
  const double slowed = busy.map_seconds_per_byte() / quiet.map_seconds_per_byte();
  EXPECT_GT(slowed, 1.02);
  EXPECT_NEAR(busy.map_seconds_per_output_byte() / quiet.map_seconds_per_output_byte(), slowed,
              0.01);
  EXPECT_NEAR(busy.layers(0).reduce_seconds_per_byte() / quiet.layers(0).reduce_seconds_per_byte(),
              slowed, 0.01);
}

TEST(SampleMachineTest, ProcessorTimeTellsWhatALumpHides) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  model.map_seconds_per_output_byte = 5e-8;
  model.knows_cpu = true;
  const v1::JobShapeLearned quiet = Conclude(model, 1);
  EXPECT_NEAR(quiet.map_seconds_per_byte(), 2e-8, 4e-10);
  EXPECT_NEAR(quiet.map_seconds_per_output_byte(), 5e-8, 1e-9);
  EXPECT_NEAR(quiet.layers(0).reduce_seconds_per_byte(), 1e-6, 1e-8);
  model.waited_s = 0.2;
  EXPECT_NEAR(Conclude(model, 1).map_seconds_per_byte(), quiet.map_seconds_per_byte(), 1e-12);
  model.waited_s = 0;
  model.shared = 2;
  const v1::JobShapeLearned busy = Conclude(model, 1);
  EXPECT_NEAR(busy.map_seconds_per_byte(), 2 * quiet.map_seconds_per_byte(), 1e-10)
      << "others' load lasts";
  EXPECT_NEAR(busy.layers(0).reduce_seconds_per_byte(),
              2 * quiet.layers(0).reduce_seconds_per_byte(), 1e-8);
}

TEST(SampleMachineTest, SlotsThatShareACoreTakeTurnsHoweverShortTheSampleIs) {
  Model model;
  model.knows_cpu = true;
  const v1::JobShapeLearned alone = Conclude(model, 1);
  model.slots_a_core = {4, 4};
  const v1::JobShapeLearned shape = Conclude(model, 1);
  EXPECT_NEAR(shape.map_seconds_per_byte(), 4 * alone.map_seconds_per_byte(), 1e-12);
  EXPECT_NEAR(shape.layers(0).reduce_seconds_per_byte(),
              4 * alone.layers(0).reduce_seconds_per_byte(), 1e-12);
  model.shared = 8;  // what the steps saw themselves is no less
  EXPECT_NEAR(Conclude(model, 1).map_seconds_per_byte(), 8 * alone.map_seconds_per_byte(), 1e-9);
}

TEST(SampleMachineTest, AQuotaOfOneWorkerIsInItsRateAndNotInTheJob) {
  Model model;
  model.knows_cpu = true;
  model.growth = 1;
  const v1::JobShapeLearned alone = Conclude(model, 1);
  // Processor time of the sample does not show that it gets a fifth of a core; its rate does.
  model.slots_a_core = {1, 5};
  model.compute_rates = {1, 0.2};
  const v1::JobShapeLearned shape = Conclude(model, 1);
  EXPECT_NEAR(shape.map_seconds_per_byte(), alone.map_seconds_per_byte(), 1e-12);
  EXPECT_NEAR(shape.layers(0).reduce_seconds_per_byte(), alone.layers(0).reduce_seconds_per_byte(),
              1e-12);
  // Load that comes on top of it counts as it does elsewhere.
  model.shared = 10;
  model.slots_a_core = {5, 5};
  model.compute_rates = {0.2, 0.2};
  EXPECT_NEAR(Conclude(model, 1).map_seconds_per_byte(), 2 * alone.map_seconds_per_byte(), 1e-9);
}

TEST(SampleMachineTest, TheFirstBytesOfAStepSayNothingOfAllOthers) {
  Model model;
  model.growth = 1;
  model.knows_cpu = true;
  model.map_seconds_per_byte = 2e-9;
  model.until_at_speed_s = 6e-9;
  model.reduce_seconds_per_byte = 4e-9;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  // A byte of input makes two of pairs, which no cache holds in the job.
  EXPECT_NEAR(shape.map_seconds_per_byte(), 2e-9 + 2 * BeyondCaches(8e6, 1e9), 2e-11);
  EXPECT_NEAR(shape.layers(0).reduce_seconds_per_byte(), 4e-9 + BeyondCaches(8e6, 1e9), 2e-11);
  // The job's step takes it once, beside the overhead.
  EXPECT_NEAR(shape.map_overhead_s(), 1e-3 + 5e5 * 6e-9, 5e-5);
}

TEST(SampleMachineTest, APartOfWhatTheDiskTakesForPlacesCounts) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  model.knows_cpu = true;
  const double quick = Conclude(model, 1).map_seconds_per_byte();
  model.disk_s = 0.08;  // as long as the processors
  const double slow = Conclude(model, 1).map_seconds_per_byte();
  EXPECT_GT(slow, 1.1 * quick);
  EXPECT_LT(slow, 1.5 * quick);
}

TEST(SampleMachineTest, AFirstStepThatIsLongByChanceStartsNothing) {
  Model model;
  model.growth = 1;
  model.knows_cpu = true;
  const double without = Conclude(model, 1).map_seconds_per_byte();
  model.first_s = 4e-3;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  EXPECT_EQ(shape.map_overhead_s(), 3e-3) << "three of the usual, at most";
  EXPECT_EQ(shape.map_seconds_per_byte(), without);
  model.first_s = 0;
  model.start_s = 4e-3;
  EXPECT_TRUE(Conclude(model, 1).has_map_overhead_s()) << "of a script, which took processors";
}

TEST(SampleMachineTest, TheSlowestPartOfAnInputThatCannotBeCutCounts) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  model.knows_cpu = true;
  const double even = Conclude(model, 1).map_seconds_per_byte();
  model.denser = 2;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  EXPECT_NEAR(shape.map_seconds_per_byte(), even * 2 / 1.5, 0.02 * even);
  EXPECT_FALSE(shape.has_map_keys()) << "these are no independent draws";
}

TEST(SampleMachineTest, PartsOfTheInputWeighWhatTheyCost) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  model.knows_cpu = true;
  model.cut_anywhere = true;
  const v1::JobShapeLearned even = Conclude(model, 1);
  EXPECT_THAT(even.input_weights(), ::testing::IsEmpty());
  model.denser = 2;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  // Records, which reading costs, are 1 to 2; keys, of which twice the records have less than twice
  // as many, cost nothing here.
  EXPECT_THAT(shape.input_weights(), ::testing::ElementsAre(::testing::DoubleNear(2 / 3.0, 0.05),
                                                            ::testing::DoubleNear(4 / 3.0, 0.05)));
  EXPECT_NEAR(shape.map_seconds_per_byte(), even.map_seconds_per_byte(),
              0.02 * even.map_seconds_per_byte())
      << "that of a byte of mean cost";
}

TEST(SampleMachineTest, EndsWithTheSmallSampleWhereItsDataIsKnown) {
  Model model;
  model.known = Conclude(model, 1).seen();
  const v1::JobShapeLearned alike = Conclude(model, 1);
  EXPECT_TRUE(alike.has_seen());
  EXPECT_FALSE(alike.has_map_output_ratio());
  model.growth = 0.4;
  EXPECT_TRUE(Conclude(model, 1).has_map_output_ratio()) << "it makes less";
}

TEST(SampleMachineTest, ReadsAllOfTheSampleWhereKeysComeAgain) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  model.known = Conclude(model, 1).seen();
  EXPECT_GT(model.known->records_per_byte(), 0.09);
  EXPECT_TRUE(Conclude(model, 1).has_map_output_ratio());
}

TEST(DataSeenTest, SmallSamplesMayBeAlikeWhereTheWholeIsNot) {
  Model model;
  model.law = KeyLaw{1, 100'000};
  const v1::JobShapeLearned few = Conclude(model, 1);
  model.law = KeyLaw{1.1, 10'000'000};
  const v1::JobShapeLearned many = Conclude(model, 1);
  EXPECT_TRUE(MakesAlike(few, few, 5e8, 1e9));
  EXPECT_FALSE(MakesAlike(few, many, 5e8, 1e9));
}

// A history of keys in one place plans reducers that most others would wait for.
TEST(DataSeenTest, DataWhoseKeysLieElsewhereIsNotAlike) {
  Model model;
  model.growth = 1;
  const v1::JobShapeLearned even = Conclude(model, 1);
  model.all_in_one_bucket = true;
  const v1::JobShapeLearned crowded = Conclude(model, 1);
  EXPECT_TRUE(IsAlike(even.seen(), even.seen()));
  EXPECT_FALSE(IsAlike(even.seen(), crowded.seen()));
  v1::JobShapeLearned::DataSeen of_before = crowded.seen();
  of_before.clear_key_share();
  EXPECT_TRUE(IsAlike(even.seen(), of_before)) << "of a version that did not look at keys";
  model.known = even.seen();
  EXPECT_TRUE(Conclude(model, 1).has_map_output_ratio()) << "all of the sample is read";
}

// As scripts do: each has a process to start.
TEST(SampleMachineTest, TellsWhatAStepStartsFromItsRate) {
  Model model;
  model.growth = 1;
  model.map_seconds_per_byte = 1e-7;
  model.start_s = 0.3;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  EXPECT_NEAR(shape.map_overhead_s(), 0.301, 1e-3);
  EXPECT_NEAR(shape.map_seconds_per_byte(), 1e-7, 1e-9);
  ASSERT_TRUE(shape.layers(0).has_startup_s());
  EXPECT_NEAR(shape.layers(0).startup_s(), 0.301, 5e-3);
  EXPECT_NEAR(shape.layers(0).reduce_seconds_per_byte(), 1e-6, 1e-8);
}

TEST(SampleMachineTest, CountsTheStartOfEachFile) {
  Model model;
  model.growth = 1;
  model.map_seconds_per_byte = 1e-7;
  model.start_s = 0.1;
  std::vector<InputFile> files;
  for (int i = 0; i < 100; ++i) files.push_back({"/" + std::to_string(i), 10'000'000});
  const v1::JobShapeLearned shape = Conclude(model, 1, files, FilesPerSlot(100, 2));
  EXPECT_NEAR(shape.map_overhead_s(), 0.1 * 50.5, 0.1);
  EXPECT_NEAR(shape.map_seconds_per_byte(), 1e-7, 2e-9);
}

TEST(SampleMachineTest, SaysNothingOfStartsThatAreAsUsual) {
  EXPECT_FALSE(Conclude({}, 1).has_map_overhead_s());
  EXPECT_FALSE(Conclude({}, 1).layers(0).has_startup_s());
}

// The only map step of a job is the first of its process, as the tiny one of a sample is.
TEST(SampleMachineTest, TheOverheadOfMapsIsWhatTheFirstStepOfAProcessTakes) {
  Model model;
  model.overhead_s = 2e-3;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  EXPECT_NEAR(shape.map_overhead_s(), 2e-3, 1e-4);
  EXPECT_FALSE(shape.layers(0).has_startup_s());
  model.knows_cpu = true;
  model.law = KeyLaw{1, 100'000};
  EXPECT_NEAR(Conclude(model, 1).map_overhead_s(), 2e-3, 1e-4) << "of one that combines, too";
  model.overhead_s = 0.5e-3;
  EXPECT_FALSE(Conclude(model, 1).has_map_overhead_s());
}

// Parts are written back while they are written: what is left to sync is as much of any.
TEST(SampleMachineTest, ClosingAPartIsOfTheStepAndNotOfItsBytes) {
  for (const bool knows_cpu : {false, true}) {
    Model model;
    model.growth = 1;
    model.knows_cpu = knows_cpu;
    const v1::JobShapeLearned without = Conclude(model, 2);
    model.closing_s = 0.05;
    const v1::JobShapeLearned shape = Conclude(model, 2);
    EXPECT_NEAR(shape.layers(1).reduce_seconds_per_byte(),
                without.layers(1).reduce_seconds_per_byte(), 1e-12);
    EXPECT_FALSE(shape.layers(0).has_startup_s());
    EXPECT_NEAR(shape.layers(1).startup_s(), model.overhead_s + model.closing_s, 5e-3);
  }
}

TEST(SampleMachineTest, LeavesOutWhatIsTooShortToTell) {
  Model model;
  model.map_seconds_per_byte = 1e-11;
  model.reduce_seconds_per_byte = 1e-12;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  EXPECT_FALSE(shape.has_map_seconds_per_byte());
  EXPECT_FALSE(shape.layers(0).has_reduce_seconds_per_byte());
  EXPECT_TRUE(shape.has_map_output_ratio());
}

TEST(SampleMachineTest, LooksCloserWhereTheKeysAre) {
  Model model;
  model.growth = 1;
  model.all_in_one_bucket = true;
  const v1::JobShapeLearned shape = Conclude(model, 1);
  const v1::JobShapeLearned::Layer& layer = shape.layers(0);
  ASSERT_GT(layer.key_end_size(), SampleMachine::kBuckets);
  double below = 0;
  int i = 0;
  while (layer.key_end(i) <= 0.0005) below += layer.key_share(i++);
  EXPECT_NEAR(below, 0.5, 0.02);
}

}  // namespace
}  // namespace weir::master
