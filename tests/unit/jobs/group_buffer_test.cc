#include "jobs/engine/pairs/group_buffer.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "jobs/engine/pairs/sorted_pairs.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/testing/in_process_job.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// GCC has the function, and not the header that declares it.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace weir {
namespace {

struct Pair {
  int consumer = 0;
  std::string key;
  std::string value;
  std::string sort_key;
};

// What a run holds: (consumer, key, value) in its order.
using Written = std::vector<std::tuple<int, std::string, std::string>>;

Written ReadBack(const testing::MemoryRun& run) {
  Written written;
  for (const auto& [consumer, blocks] : run.sections()) {
    testing::MemorySource source(blocks);
    SectionReader reader(source);
    SectionRecord record;
    for (auto more = reader.Next(record); more.ok() && *more; more = reader.Next(record)) {
      written.emplace_back(consumer, record.key, record.value);
    }
  }
  return written;
}

// The pairs dealt out to `buffers` buffers, contiguously, sorted and merged.
Written SortInBuffers(const std::vector<Pair>& pairs, ValueOrder order, std::size_t num_buffers) {
  std::deque<GroupBuffer> buffers;
  std::vector<GroupBuffer*> sorted;
  for (std::size_t b = 0; b < num_buffers; ++b) {
    GroupBuffer& buffer = buffers.emplace_back(order);
    for (std::size_t i = pairs.size() * b / num_buffers; i < pairs.size() * (b + 1) / num_buffers;
         ++i) {
      buffer.Add(pairs[i].consumer, pairs[i].key, pairs[i].value, pairs[i].sort_key);
    }
    buffer.Sort();
    sorted.push_back(&buffer);
  }
  testing::MemoryRun run;
  testing::RecordingContext context(static_cast<int>(num_buffers));
  const auto written = WriteSorted(sorted, nullptr, run, context);
  EXPECT_TRUE(written.ok());
  EXPECT_EQ(written.value_or(-1), static_cast<std::int64_t>(pairs.size()));
  return ReadBack(run);
}

Written SortAtOnce(std::vector<Pair> pairs, ValueOrder order) {
  std::stable_sort(pairs.begin(), pairs.end(), [order](const Pair& a, const Pair& b) {
    const std::string none;
    const bool by = order == ValueOrder::kBySortKey;
    return std::tie(a.consumer, a.key, by ? a.sort_key : none) <
           std::tie(b.consumer, b.key, by ? b.sort_key : none);
  });
  Written written;
  for (const Pair& pair : pairs) written.emplace_back(pair.consumer, pair.key, pair.value);
  return written;
}

ValueOrder AnyOrder() { return *rc::gen::element(ValueOrder::kOfInput, ValueOrder::kBySortKey); }

RC_GTEST_PROP(GroupBufferProperty, EqualsStableSort, ()) {
  // Bytes of two kinds and short keys: prefixes of one another, NULs, ties.
  const auto bytes = rc::gen::container<std::string>(rc::gen::element('\0', 'a', '\xff'));
  std::vector<Pair> pairs = *rc::gen::container<std::vector<Pair>>(
      rc::gen::build<Pair>(rc::gen::set(&Pair::consumer, rc::gen::inRange(0, 4)),
                           rc::gen::set(&Pair::key, bytes), rc::gen::set(&Pair::sort_key, bytes)));
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].value = std::to_string(i);
  const ValueOrder order = AnyOrder();
  RC_ASSERT(SortInBuffers(pairs, order, *rc::gen::inRange<std::size_t>(1, 5)) ==
            SortAtOnce(pairs, order));
}

// Enough pairs of a consumer that they are distributed by leading bits first, or on their way into
// one array already.
RC_GTEST_PROP(GroupBufferProperty, ManyPairsEqualStableSort, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const int spread = *rc::gen::inRange(1, 64);  // bits in which keys differ
  const bool same_beginning = *rc::gen::arbitrary<bool>();
  std::vector<Pair> pairs(*rc::gen::element<std::size_t>(20'000, 36'000));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::uint64_t bits = random() >> (64 - spread);
    std::string key(10, same_beginning ? 'x' : '\0');
    for (std::size_t at = 8; at-- > 0; bits >>= 8) key[at] = static_cast<char>(bits);
    key[9] = static_cast<char>(random() % 3);
    pairs[i] = {static_cast<int>(random() % 2), key, std::to_string(i), key.substr(6, 1)};
  }
  const ValueOrder order = AnyOrder();
  RC_ASSERT(SortInBuffers(pairs, order, 2) == SortAtOnce(pairs, order));
}

// Keys like addresses of pages: long beginnings in common, and many that are the same.
RC_GTEST_PROP(GroupBufferProperty, KeysThatBeginAlikeEqualStableSort, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const auto alike = *rc::gen::inRange<std::size_t>(1, 90);
  const int kinds = *rc::gen::inRange(1, 200);
  std::vector<Pair> pairs(3'000);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::string key(random() % 2 == 0 ? alike : alike / 2, 'x');
    const std::uint64_t kind = random() % static_cast<std::uint64_t>(kinds);
    key += std::string(kind % 12, '\0') + std::to_string(kind);
    if (kind % 3 == 0) key.resize(key.size() - 1);
    pairs[i] = {0, key, std::to_string(i), std::to_string(random() % 4)};
  }
  const ValueOrder order = AnyOrder();
  RC_ASSERT(SortInBuffers(pairs, order, 2) == SortAtOnce(pairs, order));
}

// Records in place among copied ones, in buffers of their own places and of any cut.
RC_GTEST_PROP(GroupBufferProperty, RecordsInPlaceEqualCopiedOnes, ()) {
  const RecordShape shape{*rc::gen::inRange<std::size_t>(1, 12),
                          *rc::gen::inRange<std::size_t>(1, 200)};
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const auto num_buffers = *rc::gen::inRange<std::size_t>(1, 4);
  const int kinds = *rc::gen::element(2, 256);
  std::vector<std::string> records(*rc::gen::inRange<std::size_t>(0, 500));
  std::vector<Pair> pairs;
  for (std::string& record : records) {
    for (std::size_t i = 0; i < shape.bytes(); ++i) {
      record.push_back(static_cast<char>(random() % static_cast<unsigned>(kinds)));
    }
    pairs.push_back({static_cast<int>(random() % 3), record.substr(0, shape.key_bytes),
                     record.substr(shape.key_bytes), ""});
  }
  std::deque<GroupBuffer> buffers;
  std::vector<GroupBuffer*> sorted;
  std::int64_t in_place = 0;
  for (std::size_t b = 0; b < num_buffers; ++b) {
    GroupBuffer& buffer = buffers.emplace_back(ValueOrder::kOfInput, shape);
    for (std::size_t i = pairs.size() * b / num_buffers; i < pairs.size() * (b + 1) / num_buffers;
         ++i) {
      if (random() % 2 == 0) {
        buffer.AddInPlace(pairs[i].consumer, records[i].data());
      } else {
        buffer.Add(pairs[i].consumer, pairs[i].key, pairs[i].value);
      }
    }
    buffer.Sort();
    in_place += buffer.in_place_bytes();
    sorted.push_back(&buffer);
    Written visited;
    RC_ASSERT(buffer
                  .Visit([&](int consumer, std::string_view key, std::string_view value) {
                    visited.emplace_back(consumer, key, value);
                    return absl::OkStatus();
                  })
                  .ok());
    RC_ASSERT(std::is_sorted(visited.begin(), visited.end(), [](const auto& x, const auto& y) {
      return std::tie(std::get<0>(x), std::get<1>(x)) < std::tie(std::get<0>(y), std::get<1>(y));
    }));
  }
  RC_ASSERT(in_place <= static_cast<std::int64_t>(records.size() * shape.bytes()));
  testing::MemoryRun run;
  testing::RecordingContext context(static_cast<int>(num_buffers));
  RC_ASSERT(WriteSorted(sorted, nullptr, run, context).ok());
  RC_ASSERT(ReadBack(run) == SortAtOnce(pairs, ValueOrder::kOfInput));
}

TEST(GroupBuffer, RecordsInPlaceCountAsWhatMustStayAndAnEntry) {
  const RecordShape shape{10, 90};
  GroupBuffer buffer(ValueOrder::kOfInput, shape);
  const std::string records(100 * 1000, 'r');
  for (int i = 0; i < 1000; ++i) buffer.AddInPlace(0, records.data() + 100 * i);
  EXPECT_EQ(buffer.in_place_bytes(), 100'000);
  EXPECT_GE(buffer.memory_bytes(), 100'000 + 1000 * 16);
  EXPECT_LT(buffer.memory_bytes(), 100'000 + 1000 * 40);
}

// Of malloc, which small arrays of entries are from; records lie in a SlabStore.
std::int64_t HeapBytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return static_cast<std::int64_t>(__sanitizer_get_current_allocated_bytes());
#else
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#endif
}

// Looks at the heap whenever there is a block.
class HeapWatch : public RunSink {
 public:
  absl::Status BeginSection(int) override { return absl::OkStatus(); }
  absl::Status Append(std::string_view, std::int64_t) override {
    most_bytes_ = std::max(most_bytes_, HeapBytes());
    return absl::OkStatus();
  }
  std::int64_t most_bytes() const { return most_bytes_; }

 private:
  std::int64_t most_bytes_ = 0;
};

TEST(GroupBuffer, SortsManyConsumersInWhatItSaysThatItHolds) {
  constexpr int kConsumers = 200;
  constexpr std::int64_t kPairs = 600'000;  // fewer for a consumer than slots sort together
  const std::int64_t before = HeapBytes();
  GroupBuffer buffer;
  std::mt19937_64 random(6);
  for (std::int64_t i = 0; i < kPairs; ++i) {
    const std::uint64_t key = random();
    buffer.Add(static_cast<int>(i % kConsumers), {reinterpret_cast<const char*>(&key), 4}, "v");
  }
  const std::int64_t held = HeapBytes() - before;
  EXPECT_GE(held, kPairs * 16);  // an entry of each
  HeapWatch watch;
  testing::RecordingContext context(1);
  GroupBuffer* const buffers[] = {&buffer};
  ASSERT_TRUE(WriteSorted(buffers, nullptr, watch, context).ok());
  // Blocks on their way beside it, a megabyte each.
  EXPECT_LT(watch.most_bytes() - before, held + (4 << 20));
}

TEST(GroupBuffer, LeavesItsPagesForTheNextStepOnceThereIsAMegabyte) {
  const auto slabs = std::make_shared<SlabStore>();
  GroupBuffer buffer(ValueOrder::kOfInput, {}, slabs);
  for (int i = 0; i < 10'000; ++i) buffer.Add(0, "0123456789", std::string(90, 'v'));
  buffer.Clear();
  EXPECT_GE(slabs->kept_bytes(), std::int64_t{2} << 20);
}

TEST(GroupBuffer, CostsLittleMoreThanItsPairs) {
  GroupBuffer buffer;
  std::mt19937_64 random(1);
  constexpr int kPairs = 200'000;
  const std::string value(90, 'v');
  for (int i = 0; i < kPairs; ++i) {
    std::string key(10, '\0');
    for (char& c : key) c = static_cast<char>(random());
    buffer.Add(i % 8, key, value);
  }
  // 100 bytes of pair, 2 of lengths, 16 of entry; an eighth of the entries twice while they are
  // sorted; the rest is room not used yet.
  EXPECT_LT(buffer.memory_bytes(), kPairs * 130);
  EXPECT_GE(buffer.memory_bytes(), kPairs * 118);
}

}  // namespace
}  // namespace weir
