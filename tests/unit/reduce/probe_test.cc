// What members measure of their connections at Join, and what they plan with then.

#include "runtime/reduce/probe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <thread>

namespace weir::reduce {
namespace {

RC_GTEST_PROP(ProbeTest, MembersAgreeInWhateverOrderTheyHear, ()) {
  std::vector<LinkMeasurement> measured;
  const auto n = *rc::gen::inRange(1, 20);
  for (int i = 0; i < n; ++i) {
    measured.push_back({1e-6 * *rc::gen::inRange(1, 1000), 1e-9 * *rc::gen::inRange(1, 1000),
                        *rc::gen::inRange(0, 9) == 0 ? 1.0 : 0.0});
  }
  const LinkMeasurement agreed = AgreedOn(measured);
  std::reverse(measured.begin(), measured.end());
  const LinkMeasurement again = AgreedOn(measured);
  RC_ASSERT(agreed.latency_s == again.latency_s);
  RC_ASSERT(agreed.seconds_per_byte == again.seconds_per_byte);
  const auto slower = [&](const LinkMeasurement& m) {
    return m.seconds_per_byte > agreed.seconds_per_byte;
  };
  RC_ASSERT(4 * std::count_if(measured.begin(), measured.end(), slower) <= n);
  RC_ASSERT((agreed.given != 0) == std::any_of(measured.begin(), measured.end(),
                                               [](const auto& m) { return m.given != 0; }));
}

TEST(ProbeTest, AKnownRateIsAnUpperBoundAndAGuessIsReplaced) {
  const GroupFacts known = {4, 1e-7, 5e-4, 0, 0.97, 0};
  const GroupFacts slower = WithMeasured(known, {1e-4, 2e-7, 0});
  EXPECT_DOUBLE_EQ(slower.latency_s, 1e-4);
  EXPECT_DOUBLE_EQ(slower.seconds_per_byte / slower.pacing_fraction, 2e-7);
  EXPECT_DOUBLE_EQ(WithMeasured(known, {1e-4, 9e-8, 0}).seconds_per_byte, 1e-7);
  const GroupFacts guessed = {4, 8e-9, 1e-3, 0, 0, 0};
  EXPECT_DOUBLE_EQ(WithMeasured(guessed, {1e-4, 1e-9, 0}).seconds_per_byte, 1e-9);
  EXPECT_DOUBLE_EQ(WithMeasured(guessed, {1e-4, 0, 0}).seconds_per_byte, 8e-9) << "not measured";
  const GroupFacts given = WithMeasured(known, {1e-4, 2e-7, 1});
  EXPECT_DOUBLE_EQ(given.latency_s, 5e-4);
  EXPECT_DOUBLE_EQ(given.seconds_per_byte, 1e-7);
}

TEST(ProbeTest, AProbeIsBoundedAndKeepsToALimitOfTheNetwork) {
  EXPECT_EQ(ProbeBytes({8, 1e-6, 0, 0, 0, 0}), 32 << 10);
  EXPECT_EQ(ProbeBytes({8, 1e-7, 0, 0, 0, 0}), 200'000);
  EXPECT_EQ(ProbeBytes({8, 1e-10, 0, 0, 0, 0}), 1 << 20);
  EXPECT_EQ(ProbeBytes({8, 1e-7, 0, 3, 0, 0}), 0);
}

// Members as threads over loopback.
std::vector<absl::StatusOr<LinkMeasurement>> Measure(int size, std::int64_t bytes, int giver) {
  std::vector<Listener> listeners;
  MeshOptions options;
  options.group_id = "g";
  options.token = "secret";
  for (int i = 0; i < size; ++i) {
    listeners.push_back(*Listener::Open("127.0.0.1:0"));
    options.endpoints.push_back(listeners.back().endpoint);
  }
  std::vector<absl::StatusOr<LinkMeasurement>> found(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int i = 0; i < size; ++i) {
    threads.emplace_back([&, i, mine = options]() mutable {
      mine.rank = i;
      const absl::StatusOr<Mesh> mesh = Mesh::Connect(listeners[static_cast<std::size_t>(i)], mine);
      found[static_cast<std::size_t>(i)] = mesh.ok()
                                               ? MeasureLinks(*mesh, mine, bytes, i == giver)
                                               : absl::StatusOr<LinkMeasurement>(mesh.status());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return found;
}

TEST(ProbeTest, AllMembersComeToTheSame) {
  for (const int size : {2, 3, 4, 7}) {
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1 << 20}}) {
      const auto found = Measure(size, bytes, bytes == 0 ? size - 1 : -1);
      for (const auto& one : found) {
        ASSERT_TRUE(one.ok()) << one.status();
        EXPECT_GT(one->latency_s, 0);
        EXPECT_EQ(one->latency_s, found[0]->latency_s);
        EXPECT_EQ(one->seconds_per_byte, found[0]->seconds_per_byte);
        EXPECT_EQ(one->seconds_per_byte > 0, bytes > 0);
        EXPECT_EQ(one->given != 0, bytes == 0);
      }
    }
  }
}

}  // namespace
}  // namespace weir::reduce
