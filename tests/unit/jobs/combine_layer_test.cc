#include "jobs/engine/combine_layer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "jobs/api/readers.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

// Its key codec writes what it cannot read.
struct OneWayKey {
  int number = 0;
};

}  // namespace

template <>
struct KeyCodec<OneWayKey> {
  static void Append(const OneWayKey& key, std::string& out) { out = std::to_string(key.number); }
  static bool Take(std::string_view&, OneWayKey&) { return false; }
};

namespace {

struct CountByNumber {
  using Reader = TextLines;
  using Key = std::int64_t;
  using Value = std::int64_t;
  template <typename Emit>
  void Map(std::string_view, Emit& emit) {
    emit(1, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::int64_t key, const Value& value, std::string& out) const {
    out += std::to_string(key) + " " + std::to_string(value) + "\n";
  }
};

struct CountByOneWayKey {
  using Reader = TextLines;
  using Key = OneWayKey;
  using Value = std::int64_t;
  template <typename Emit>
  void Map(std::string_view, Emit& emit) {
    emit(OneWayKey{7}, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  double Partition(const OneWayKey&) const { return 0.5; }
  void Format(const OneWayKey&, const Value&, std::string&) const {}
};

TEST(CombineLayer, DamagedKeyIsDataLossAndNotAKeyOfZero) {
  testing::MemoryRun run;
  SectionWriter writer(run);
  ASSERT_TRUE(writer.Begin(0).ok());
  std::string one;
  ValueCodec<std::int64_t>::Append(1, one);
  ASSERT_TRUE(writer.Add("abc", one).ok());  // a number has eight bytes
  ASSERT_TRUE(writer.Finish().ok());
  ReduceOrder order;
  order.inputs.push_back(std::make_unique<testing::MemorySource>(run.sections().at(0)));
  testing::MemoryPart part;
  testing::RecordingContext context(1);
  const auto totals =
      MakeJobProgram(CountByNumber())->ReduceToPart(std::move(order), part, context);
  EXPECT_EQ(totals.status().code(), absl::StatusCode::kDataLoss) << totals.status();
  EXPECT_EQ(part.text, "");
}

TEST(CombineLayer, AKeyThatCannotBeReadBackIsNotPlacedAtRandom) {
  const testing::ScratchFile file("a\n");
  testing::MemoryRun run;
  testing::RecordingContext context(1);
  const auto totals =
      MakeJobProgram(CountByOneWayKey())->Map({{file.range()}, {1.0}}, run, context);
  EXPECT_EQ(totals.status().code(), absl::StatusCode::kDataLoss) << totals.status();
}

}  // namespace
}  // namespace weir
