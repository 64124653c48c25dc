// What the planner says of tables, pairs and files of steps, held against the engine itself: the
// two must not include each other.

#include "planner/job/held_bytes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/pairs/group_buffer.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/table/combine_table.h"
#include "jobs/testing/in_process_job.h"
#include "planner/job/step_spill.h"
#include "tests/unit/jobs/count_lines.h"
#include "tests/unit/jobs/sort_lines.h"
#include "tests/unit/jobs/sort_records.h"

namespace weir {
namespace {

using planner::ClusterProfile;
using planner::JobShape;
using testing::CountLines;
using testing::MemoryRun;
using testing::MemorySpill;
using testing::RecordingContext;
using testing::ScratchFile;
using testing::SortRecords;

TEST(TableBytes, AreThoseOfATableOfCounts) {
  for (const bool long_keys : {false, true}) {
    std::mt19937_64 random(11);
    CombineTable<std::int64_t> table;
    double error_sum = 0;
    int sizes = 0;
    for (double next = 2000; next < 2e6; next *= 1.1) {
      while (static_cast<double>(table.size()) < next) {
        std::string key = absl::StrCat(random() % 1'000'000'000'000);
        if (long_keys) key += "and a tail that is not in the entry";
        const auto bytes = static_cast<std::uint32_t>(key.size());
        key.resize(key.size() + kInlineKeyBytes);
        table.Upsert(PackKey(key.data(), bytes), 1,
                     [](std::int64_t& into, std::int64_t from) { into += from; });
      }
      // 12 digits, two lengths and a value of 8 bytes.
      const double said = planner::TableBytes(static_cast<double>(table.size()),
                                              long_keys ? 12 + 35 + 10 : 12 + 10);
      const double error = said / static_cast<double>(table.memory_bytes()) - 1;
      // Where sub-tables double, a few thousand keys more or less are a factor.
      EXPECT_LT(std::abs(error), 0.5) << table.size() << " keys";
      error_sum += std::abs(error);
      ++sizes;
    }
    EXPECT_LT(error_sum / sizes, 0.06) << "of " << sizes << " sizes";
  }
}

TEST(PairBytes, AreThoseOfABuffer) {
  for (const int num_consumers : {1, 4}) {
    std::mt19937_64 random(12);
    GroupBuffer buffer(ValueOrder::kOfInput, {}, std::make_shared<SlabStore>());
    const std::string value(30, 'v');
    double made = 0;
    for (int i = 1; i <= 2'000'000; ++i) {
      const std::string key = absl::StrCat(random() % 10'000'000'000);
      buffer.Add(static_cast<int>(random() % static_cast<unsigned>(num_consumers)), key, value, {});
      made += static_cast<double>(2 + key.size() + value.size());
      if (i % 100'000 != 0) continue;
      const double said = planner::PairBytes(made, made / i, 1.0 / num_consumers);
      EXPECT_NEAR(said, static_cast<double>(buffer.memory_bytes()), 0.15 * said) << i << " pairs";
    }
  }
}

// Counts what is put on disk.
class DiskContext : public RecordingContext {
 public:
  DiskContext(int num_slots, std::int64_t bytes) : RecordingContext(num_slots) {
    spill_above = bytes;
  }
  absl::StatusOr<std::unique_ptr<SpillFile>> NewSpill() override {
    return std::make_unique<CountedSpill>(bytes_);
  }
  double bytes() const { return static_cast<double>(bytes_); }

 private:
  class CountedSpill : public MemorySpill {
   public:
    explicit CountedSpill(std::atomic<std::int64_t>& bytes) : bytes_(bytes) {}
    absl::Status Append(std::string_view block, std::int64_t records) override {
      bytes_ += static_cast<std::int64_t>(block.size());
      return MemorySpill::Append(block, records);
    }

   private:
    std::atomic<std::int64_t>& bytes_;
  };

  std::atomic<std::int64_t> bytes_ = 0;
};

double BytesOf(const MemoryRun& run) {
  double bytes = 0;
  for (const auto& [consumer, blocks] : run.sections()) {
    for (const std::string& block : blocks) bytes += static_cast<double>(block.size());
  }
  return bytes;
}

// Lines of 12 digits, of so many different ones, in no order.
std::string Lines(std::uint64_t seed, int lines, double distinct) {
  std::mt19937_64 random(seed);
  std::string text;
  for (int i = 0; i < lines; ++i) {
    const auto key =
        static_cast<std::uint64_t>(static_cast<double>(random() >> 11) /
                                   static_cast<double>(std::uint64_t{1} << 53) * distinct);
    absl::StrAppend(&text, 100'000'000'000 + key * 7919, "\n");
  }
  return text;
}

constexpr double kLineBytes = 13;
constexpr double kCountedBytes = 12 + 10;  // two lengths and a count

// A job whose keys are drawn from `distinct`, all as often.
JobShape CountingShape(double input_bytes, double distinct) {
  JobShape shape;
  shape.input_bytes = static_cast<planner::Bytes>(input_bytes);
  shape.map_output_ratio = {1, planner::Origin::kSampled};
  for (double bytes = input_bytes / 4096; bytes < 2 * input_bytes; bytes *= 2) {
    const double keys = -distinct * std::expm1(-bytes / kLineBytes / distinct);
    shape.map_output_points.push_back({bytes, keys * kCountedBytes});
  }
  shape.layers.resize(1);
  shape.layers[0].element.kind = planner::ElementShape::Kind::kTable;
  shape.layers[0].record_bytes = {kCountedBytes, planner::Origin::kSampled};
  return shape;
}

ClusterProfile OneWorker(int slots, std::int64_t spill_above) {
  ClusterProfile cluster;
  cluster.workers.resize(1);
  cluster.workers[0].slots = slots;
  cluster.workers[0].spill_above_bytes = spill_above;
  return cluster;
}

TEST(MapSpill, IsWhatTheTablesOfMapStepsPutOnDisk) {
  constexpr int kLines = 3'000'000;
  for (const double distinct : {4e5, 3e9}) {
    const ScratchFile file(Lines(3, kLines, distinct));
    for (const auto& [slots, spill_above] :
         {std::pair(1, 3 << 20), std::pair(1, 11 << 20), std::pair(2, 25 << 20),
          std::pair(2, 44 << 20), std::pair(1, 1 << 30)}) {
      auto program = MakeJobProgram(CountLines());
      DiskContext context(slots, spill_above);
      MemoryRun run;
      ASSERT_TRUE(program->Map({{file.range()}, {0.5, 1.0}}, run, context).ok());
      const double said = MapSpill(CountingShape(kLineBytes * kLines, distinct),
                                   OneWorker(slots, spill_above), 0, kLineBytes * kLines)
                              .bytes;
      EXPECT_NEAR(said, context.bytes(), 0.2 * context.bytes())
          << distinct << " keys, " << slots << " slots, " << spill_above << " bytes";
    }
  }
}

TEST(ReduceSpill, IsWhatReduceStepsPutOnDisk) {
  constexpr int kLines = 3'000'000;
  struct Step {
    int mappers;
    int slots;
    std::int64_t spill_above;
  };
  const Step steps[] = {{10, 1, 11 << 20}, {10, 1, 44 << 20}, {10, 2, 44 << 20}, {10, 1, 1 << 30},
                        {3, 4, 66 << 20},  {2, 5, 88 << 20},  {2, 4, 88 << 20},  {2, 4, 11 << 20},
                        {1, 1, 11 << 20},  {1, 1, 44 << 20},  {1, 4, 44 << 20},  {1, 4, 8 << 20},
                        {1, 4, 1 << 30}};
  for (const double distinct : {4e5, 3e9}) {
    std::map<int, std::vector<MemoryRun>> runs_of;  // by mappers
    for (const auto& [mappers, slots, spill_above] : steps) {
      std::vector<MemoryRun>& runs = runs_of[mappers];
      for (int j = static_cast<int>(runs.size()); j < mappers; ++j) {
        auto program = MakeJobProgram(CountLines());
        RecordingContext context(1);
        const ScratchFile file(Lines(static_cast<std::uint64_t>(j), kLines / mappers, distinct));
        runs.emplace_back();
        ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, runs.back(), context).ok());
      }
      double input_bytes = 0;
      for (const MemoryRun& run : runs) input_bytes += BytesOf(run);
      auto program = MakeJobProgram(CountLines());
      DiskContext context(slots, spill_above);
      testing::MemoryPart part;
      ReduceOrder order;
      order.inputs = testing::SectionsOf(runs, 0);
      ASSERT_TRUE(program->ReduceToPart(std::move(order), part, context).ok());
      const double said = ReduceSpill(CountingShape(kLineBytes * kLines, distinct), 0,
                                      OneWorker(slots, spill_above), 0, input_bytes, mappers)
                              .bytes;
      EXPECT_NEAR(said, context.bytes(), 0.25 * context.bytes())
          << distinct << " keys, " << mappers << " mappers, " << slots << " slots, " << spill_above
          << " bytes";
    }
  }
}

// A pair for each line, handed on as it came.
struct HandOn : testing::SortLines {
  using SortLines::Map;
  template <typename Emit>
  void Map(std::string_view key, const Value& value, Emit& emit) {
    emit(key, value);
  }
};

TEST(ReduceSpill, IsWhatInnerLayersOfGroupsPutOnDisk) {
  constexpr int kLines = 900'000;
  constexpr int kMappers = 3;
  std::vector<MemoryRun> runs;
  double input_bytes = 0;
  for (int j = 0; j < kMappers; ++j) {
    auto program = MakeChainProgram(HandOn(), HandOn());
    RecordingContext context(1);
    const ScratchFile file(Lines(static_cast<std::uint64_t>(j), kLines / kMappers, 3e9));
    runs.emplace_back();
    ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, runs.back(), context).ok());
    input_bytes += BytesOf(runs.back());
  }
  JobShape shape;
  shape.input_bytes = static_cast<planner::Bytes>(kLineBytes * kLines);
  shape.map_output_ratio = {input_bytes / kLineBytes / kLines, planner::Origin::kSampled};
  shape.layers.resize(2);
  for (auto& layer : shape.layers) {
    layer.record_bytes = {input_bytes / kLines, planner::Origin::kSampled};
    layer.output_ratio = {1, planner::Origin::kSampled};
  }
  for (const auto& [slots, spill_above] :
       {std::pair(1, 12 << 20), std::pair(1, 30 << 20), std::pair(2, 12 << 20),
        std::pair(4, 30 << 20), std::pair(4, 48 << 20), std::pair(4, 128 << 20)}) {
    auto program = MakeChainProgram(HandOn(), HandOn());
    DiskContext context(slots, spill_above);
    MemoryRun next;
    ReduceOrder order;
    order.inputs = testing::SectionsOf(runs, 0);
    order.consumer_key_end = {1.0};
    ASSERT_TRUE(program->ReduceToRun(std::move(order), next, context).ok());
    const double said =
        ReduceSpill(shape, 0, OneWorker(slots, spill_above), 0, input_bytes, kMappers).bytes;
    EXPECT_NEAR(said, context.bytes(), 0.25 * context.bytes())
        << slots << " slots, " << spill_above << " bytes";
  }
}

TEST(MapSpill, IsWhatPairsInPlacePutOnDisk) {
  constexpr int kRecords = 600'000;
  std::mt19937_64 random(4);
  std::string records(std::size_t{100} * kRecords, '.');
  for (std::size_t at = 0; at < records.size(); at += 100) {
    for (std::size_t i = 0; i < 10; ++i) records[at + i] = static_cast<char>('a' + random() % 26);
  }
  const ScratchFile file(records);
  JobShape shape;
  shape.input_bytes = static_cast<planner::Bytes>(records.size());
  shape.map_output_ratio = {1.02, planner::Origin::kSampled};
  shape.layers.resize(1);
  shape.layers[0].num_reducers = 2;
  shape.layers[0].record_bytes = {102, planner::Origin::kSampled};
  for (const auto& [slots, spill_above] :
       {std::pair(1, 4 << 20), std::pair(1, 6 << 20), std::pair(1, 16 << 20),
        std::pair(2, 16 << 20), std::pair(2, 64 << 20), std::pair(1, 128 << 20)}) {
    auto program = MakeJobProgram(SortRecords());
    DiskContext context(slots, spill_above);
    MemoryRun run;
    ASSERT_TRUE(program->Map({{file.range()}, {0.5, 1.0}}, run, context).ok());
    const double said =
        MapSpill(shape, OneWorker(slots, spill_above), 0, static_cast<double>(records.size()))
            .bytes;
    EXPECT_NEAR(said, context.bytes(), 0.2 * context.bytes())
        << slots << " slots, " << spill_above << " bytes";
  }
}

}  // namespace
}  // namespace weir
