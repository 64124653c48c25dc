// What reduces of a sample read where keys are uneven, so that runs have a section for each of many
// buckets: as many inputs as a reducer of the job has, where sections may be joined.

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/master/sample/sample_machine.h"
#include "tests/unit/master/sample_inputs.h"

namespace weir::master {
namespace {

// Most keys lie in the first bucket; every third section is empty.
v1::StepResult Done(const v1::StepOrder& order) {
  v1::StepResult result;
  result.set_step(order.step());
  result.set_run_s(0.01);
  result.set_input_records(100'000);
  result.set_output_records(10'000);
  if (order.consumers().empty()) {
    result.mutable_part()->set_bytes(500);
    return result;
  }
  std::int64_t offset = 0;
  for (int k = 0; k < order.consumers_size(); ++k) {
    v1::RunSection& section = *result.mutable_run()->add_sections();
    section.set_consumer_step(k);
    section.set_offset(offset);
    section.set_records(k == 0 ? 9'000 : 10);
    section.set_bytes(k % 3 == 2 ? 0 : 10 * section.records());
    offset += section.bytes();
  }
  return result;
}

struct Read {
  std::vector<v1::StepInput> inputs;  // of the first worker's large reduce
  int num_sections = 0;
  std::int64_t bytes = 0;
};

Read LargeReduceOf(int num_workers, bool combines, int num_mappers = 0) {
  const auto workers = static_cast<std::size_t>(num_workers);
  const auto design = DesignSample(Files({{"/a", 1'000'000'000}}), workers, 1, {});
  SampleScale scale = OneWorker(1);
  scale.compute_rates.assign(workers, 1);
  scale.slots.assign(workers, 1);
  scale.slots_a_core.assign(workers, 1);
  scale.combines = combines;
  scale.num_mappers = num_mappers;
  SampleMachine machine(design.value(), scale);
  Read read;
  double now_s = 0;
  for (std::vector<SampleOrder> orders = machine.Begin(now_s); !machine.finished();) {
    now_s += 0.01;
    std::vector<SampleOrder> next;
    for (const SampleOrder& order : orders) {
      const v1::StepResult result = Done(order.order);
      // The large map is the third step of a worker.
      if (order.worker == 0 && order.order.step() == 2 * num_workers) {
        read.num_sections = result.run().sections_size();
        for (const auto& section : result.run().sections()) read.bytes += section.bytes();
      }
      if (order.worker == 0 && order.order.kind() == v1::STEP_KIND_REDUCE) {
        read.inputs = {order.order.inputs().begin(), order.order.inputs().end()};
      }
      const auto more = machine.StepDone(result, now_s);
      EXPECT_TRUE(more.ok()) << more.status();
      next.insert(next.end(), more->begin(), more->end());
    }
    orders = std::move(next);
  }
  return read;
}

TEST(SampleSectionsTest, AreJoinedWhereKeysAreCombined) {
  for (const int num_workers : {1, 2, 5}) {
    const Read read = LargeReduceOf(num_workers, /*combines=*/true);
    EXPECT_GT(read.num_sections, SampleMachine::kBuckets) << "in finer buckets";
    ASSERT_EQ(read.inputs.size(), static_cast<std::size_t>(num_workers));
    std::int64_t at = 0;
    for (const v1::StepInput& input : read.inputs) {
      EXPECT_EQ(input.offset(), at);
      at += input.bytes();
    }
    EXPECT_EQ(at, read.bytes);
  }
}

TEST(SampleSectionsTest, AreAsManyInputsAsTheJobHasMappers) {
  EXPECT_EQ(LargeReduceOf(1, /*combines=*/true, 20).inputs.size(), 20U);
  EXPECT_EQ(LargeReduceOf(5, /*combines=*/true, 2).inputs.size(), 2U);
}

TEST(SampleSectionsTest, AreReadAsTheyAreWhereTheyAreSorted) {
  const Read read = LargeReduceOf(1, /*combines=*/false);
  EXPECT_EQ(std::ssize(read.inputs), read.num_sections - read.num_sections / 3);
}

}  // namespace
}  // namespace weir::master
