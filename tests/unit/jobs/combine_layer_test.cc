#include "jobs/engine/combine_layer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "jobs/api/key_codec.h"
#include "jobs/api/key_place.h"
#include "jobs/api/readers.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

// Its key codec writes what it cannot read.
struct OneWayKey {
  int number = 0;
};

// Its key codec knows it as a ShortKey.
struct ByteKey {
  std::uint8_t number = 0;
};

}  // namespace

template <>
struct KeyCodec<ByteKey> {
  static bool Short(const ByteKey& key, ShortKey& out) {
    out.Append(key.number, 1);
    return true;
  }
  static void Append(const ByteKey& key, std::string& out) {
    out.push_back(static_cast<char>(key.number));
  }
  static bool Take(std::string_view& in, ByteKey& key) {
    if (in.empty()) return false;
    key.number = static_cast<std::uint8_t>(in.front());
    in.remove_prefix(1);
    return true;
  }
};

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

// Gives each key with its place, in jobs that take places and in those that do not.
template <typename KeyType, bool kAnyOrder>
struct CountWithPlaces {
  using Reader = TextLines;
  using Key = KeyType;
  using Value = std::int64_t;
  static constexpr bool kCommutative = kAnyOrder;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    KeyType key{};
    if constexpr (std::is_same_v<KeyType, std::string>) {
      key = line;
    } else {
      key.number = static_cast<std::uint8_t>(line.front());
    }
    emit(key, 1, places[std::string(line)]);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(typename KeyForm<KeyType>::Argument key, const Value& value, std::string& out) const {
    if constexpr (std::is_same_v<KeyType, std::string>) {
      out += std::string(key) + " " + std::to_string(value) + "\n";
    } else {
      out += std::string(1, static_cast<char>(key.number)) + " " + std::to_string(value) + "\n";
    }
  }
  std::map<std::string, KeyPlace> places;
};

template <typename Job>
std::string CountedBy(const std::string& text) {
  const testing::ScratchFile file(text);
  testing::MemoryRun run;
  testing::RecordingContext context(1);
  const auto program = MakeJobProgram(Job());
  EXPECT_TRUE(program->Map({{file.range()}, {1.0}}, run, context).ok());
  ReduceOrder order;
  order.inputs.push_back(std::make_unique<testing::MemorySource>(run.sections().at(0)));
  testing::MemoryPart part;
  EXPECT_TRUE(program->ReduceToPart(std::move(order), part, context).ok());
  return part.text;
}

TEST(CombineLayer, KeysMayComeWithTheirPlaces) {
  const std::string text = "a\nb\na\nc\na\nb\n";
  const std::string expected = "a 3\nb 2\nc 1\n";
  EXPECT_EQ((CountedBy<CountWithPlaces<ByteKey, true>>(text)), expected);
  EXPECT_EQ((CountedBy<CountWithPlaces<ByteKey, false>>(text)), expected);
  EXPECT_EQ((CountedBy<CountWithPlaces<std::string, true>>(text)), expected);
  EXPECT_EQ((CountedBy<CountWithPlaces<std::string, false>>(text)), expected);
}

}  // namespace
}  // namespace weir
