// Members as threads over loopback sockets, against a sequential fold.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "runtime/reduce/mesh.h"
#include "runtime/reduce/reduce.h"
#include "tests/unit/reduce/members_in_process.h"

namespace weir::reduce {
namespace {

using Ints = std::vector<std::int64_t>;

std::size_t LengthOf(int which, int size) {
  const std::size_t lengths[] = {0, 1, static_cast<std::size_t>(std::max(0, size - 1)), 1000};
  return lengths[which];
}

// Values whose sums, products and order tell which operands went in.
Ints ElementOf(int rank, std::size_t length) {
  Ints element(length);
  for (std::size_t i = 0; i < length; ++i) {
    element[i] =
        static_cast<std::int64_t>((i * 7919 + static_cast<std::size_t>(rank) * 104729) % 1009) -
        500;
  }
  return element;
}

Ints Folded(int size, std::size_t length,
            const std::function<std::int64_t(std::int64_t, std::int64_t)>& op) {
  Ints result = ElementOf(0, length);
  for (int rank = 1; rank < size; ++rank) {
    const Ints element = ElementOf(rank, length);
    for (std::size_t i = 0; i < length; ++i) result[i] = op(result[i], element[i]);
  }
  return result;
}

// x -> a x + b modulo 2^32, packed; composing is associative and does not commute.
std::int64_t Compose(std::int64_t left, std::int64_t right) {
  const auto l = static_cast<std::uint64_t>(left);
  const auto r = static_cast<std::uint64_t>(right);
  const std::uint64_t la = l >> 32 | 1, lb = l & 0xffffffff, ra = r >> 32 | 1, rb = r & 0xffffffff;
  const std::uint64_t a = (la * ra) & 0xffffffff, b = (lb * ra + rb) & 0xffffffff;
  return static_cast<std::int64_t>(a << 32 | b);
}

Operation Composition(double seconds_per_element = 0) {
  return Operation::Of<std::int64_t>(
      "composition",
      [](std::span<const std::int64_t> left, std::span<const std::int64_t> right,
         std::span<std::int64_t> result) {
        for (std::size_t i = 0; i < result.size(); ++i) result[i] = Compose(left[i], right[i]);
      },
      {.commutative = false, .seconds_per_element = seconds_per_element});
}

struct Case {
  Operation operation;
  std::function<std::int64_t(std::int64_t, std::int64_t)> fold;
};

std::vector<Case> Cases() {
  using U = std::uint64_t;
  return {
      {Operation::Sum(), [](std::int64_t l, std::int64_t r) { return l + r; }},
      {Operation::Min(), [](std::int64_t l, std::int64_t r) { return std::min(l, r); }},
      {Operation::Max(), [](std::int64_t l, std::int64_t r) { return std::max(l, r); }},
      {Operation::Product(),
       [](std::int64_t l, std::int64_t r) {
         return static_cast<std::int64_t>(static_cast<U>(l) * static_cast<U>(r));
       }},
      {Composition(), Compose},
      {Composition(1e-6), Compose},
  };
}

absl::Status Expect(const Ints& got, const Ints& expected, const std::string& what) {
  if (got == expected) return absl::OkStatus();
  return absl::InternalError(what);
}

void AllOk(const std::vector<absl::Status>& results) {
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    EXPECT_TRUE(results[rank].ok()) << "rank " << rank << ": " << results[rank];
  }
}

class GroupSizes : public testing::TestWithParam<int> {};

TEST_P(GroupSizes, AllCallsGiveWhatASequentialFoldGives) {
  const int size = GetParam();
  AllOk(RunMembers(size, [&](Group& group) -> absl::Status {
    for (const Case& one : Cases()) {
      for (int which = 0; which < 4; ++which) {
        const std::size_t length = LengthOf(which, size);
        const Ints expected = Folded(size, length, one.fold);
        const std::string what = one.operation.name() + " of " + std::to_string(length);
        for (const int root : {0, size / 2, size - 1}) {
          Ints mine = ElementOf(group.rank(), length);
          absl::Status done = group.Reduce(std::span(mine), one.operation, root);
          if (done.ok() && group.rank() == root) done = Expect(mine, expected, "reduce " + what);
          if (!done.ok()) return done;
          Ints copy = ElementOf(group.rank(), length);
          done = group.Broadcast(std::span(copy), root);
          if (done.ok()) done = Expect(copy, ElementOf(root, length), "broadcast " + what);
          if (!done.ok()) return done;
        }
        Ints all = ElementOf(group.rank(), length);
        absl::Status done = group.AllReduce(std::span(all), one.operation);
        if (done.ok()) done = Expect(all, expected, "all-reduce " + what);
        if (!done.ok()) return done;
      }
    }
    return absl::OkStatus();
  }));
}

INSTANTIATE_TEST_SUITE_P(Sizes, GroupSizes, testing::Range(1, 10));

// Segments, windows and the second thread only matter for long arrays.
TEST(GroupTest, LongArraysArriveWhole) {
  constexpr std::size_t kLength = 1'000'000;
  for (const int size : {2, 3, 5, 8}) {
    v1::GroupNetwork network = LoopbackNetwork();
    network.set_seconds_per_byte(1e-8);
    AllOk(RunMembers(
        size,
        [&](Group& group) -> absl::Status {
          for (const Case& one : {Cases()[0], Cases()[4]}) {
            const Ints expected = Folded(size, kLength, one.fold);
            Ints mine = ElementOf(group.rank(), kLength);
            absl::Status done = group.Reduce(std::span(mine), one.operation, 0);
            if (done.ok() && group.rank() == 0) done = Expect(mine, expected, "reduce");
            if (!done.ok()) return done;
            Ints all = ElementOf(group.rank(), kLength);
            done = group.AllReduce(std::span(all), one.operation);
            if (done.ok()) done = Expect(all, expected, "all-reduce by " + group.LastMethod());
            if (done.ok()) done = group.Broadcast(std::span(mine), size - 1);
            if (!done.ok()) return done;
          }
          return absl::OkStatus();
        },
        network));
  }
}

TEST(GroupTest, FloatsAndDoublesPassNaN) {
  AllOk(RunMembers(3, [](Group& group) -> absl::Status {
    for (const Operation& operation : {Operation::Sum(), Operation::Min(), Operation::Max()}) {
      std::vector<float> floats = {1.5F, group.rank() == 1 ? std::nanf("") : 2.0F};
      absl::Status done = group.AllReduce(std::span(floats), operation);
      if (!done.ok()) return done;
      if (!std::isnan(floats[1]) || std::isnan(floats[0])) return absl::InternalError("float NaN");
      std::vector<double> doubles = {group.rank() == 2 ? std::nan("") : 2.0};
      done = group.AllReduce(std::span(doubles), operation);
      if (!done.ok()) return done;
      if (!std::isnan(doubles[0])) return absl::InternalError("double NaN");
    }
    return absl::OkStatus();
  }));
}

TEST(GroupTest, SameCallsGiveSameBits) {
  // Numbers that are measured choose the schedule too, and differ from group to group.
  GroupOptions options;
  options.network = {.bytes_per_s = 1e9, .latency_s = 5e-5};
  const auto sums = [&options] {
    std::vector<double> result;
    const auto body = [&](Group& group) -> absl::Status {
      std::vector<double> mine(5000);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        mine[i] = 1.0 / (1.0 + static_cast<double>(i) + 17.0 * group.rank());
      }
      // As does what the operation costs.
      const Operation sum = Operation::Of<double>(
          "own sum",
          [](std::span<const double> l, std::span<const double> r, std::span<double> into) {
            for (std::size_t i = 0; i < into.size(); ++i) into[i] = l[i] + r[i];
          },
          {.seconds_per_element = 1e-8});
      absl::Status done = group.AllReduce(std::span(mine), sum);
      if (group.rank() == 3) result = mine;
      return done;
    };
    AllOk(RunMembers(5, body, LoopbackNetwork(), options));
    return result;
  };
  const std::vector<double> first = sums();
  EXPECT_EQ(first.size(), 5000);
  EXPECT_EQ(first, sums());
}

TEST(GroupTest, ALimitOfTransfersMayExceedTheMembers) {
  for (const int channels : {1, 2, 100}) {
    AllOk(RunMembers(
        4,
        [](Group& group) -> absl::Status {
          Ints mine = ElementOf(group.rank(), 20'000);
          absl::Status done = group.AllReduce(std::span(mine), Operation::Sum());
          if (!done.ok()) return done;
          return Expect(mine, Folded(4, 20'000, std::plus<std::int64_t>()), "sum");
        },
        LoopbackNetwork(channels)));
  }
}

TEST(GroupTest, TwoGroupsAtOnce) {
  std::vector<std::thread> groups;
  for (const std::string name : {"one", "two"}) {
    groups.emplace_back([name] {
      GroupOptions options;
      options.group = name;
      AllOk(RunMembers(
          4,
          [](Group& group) -> absl::Status {
            for (int i = 0; i < 20; ++i) {
              Ints mine = ElementOf(group.rank(), 30'000);
              absl::Status done = group.AllReduce(std::span(mine), Operation::Sum());
              if (done.ok())
                done = Expect(mine, Folded(4, 30'000, std::plus<std::int64_t>()), "sum");
              if (!done.ok()) return done;
            }
            return absl::OkStatus();
          },
          LoopbackNetwork(), options));
    });
  }
  for (std::thread& group : groups) group.join();
}

// A member whose part is done already hears of it in its next call.
std::vector<absl::Status> DifferentCalls(int size,
                                         const std::function<absl::Status(Group&)>& call) {
  return RunMembers(size, [&](Group& group) {
    absl::Status first = call(group);
    if (!first.ok()) return first;
    Ints mine(10);
    return group.AllReduce(std::span(mine), Operation::Sum());
  });
}

void AllDiffer(const std::vector<absl::Status>& results) {
  for (const absl::Status& result : results) {
    EXPECT_EQ(result.code(), absl::StatusCode::kFailedPrecondition) << result;
    EXPECT_NE(std::string(result.message()).find("members make different calls"), std::string::npos)
        << result;
  }
}

TEST(GroupTest, DifferentLengthsAreAnErrorEverywhere) {
  for (const int size : {2, 3, 5}) {
    AllDiffer(DifferentCalls(size, [&](Group& group) {
      Ints mine(group.rank() == size - 1 ? 100 : 1000);
      return group.AllReduce(std::span(mine), Operation::Sum());
    }));
  }
}

TEST(GroupTest, DifferentOperationsAreAnErrorEverywhere) {
  AllDiffer(DifferentCalls(4, [](Group& group) {
    Ints mine(1000);
    return group.Reduce(std::span(mine), group.rank() == 2 ? Operation::Max() : Operation::Sum());
  }));
}

TEST(GroupTest, DifferentRootsAreAnErrorEverywhere) {
  AllDiffer(DifferentCalls(2, [](Group& group) {
    Ints mine(1000);
    return group.Reduce(std::span(mine), Operation::Sum(), group.rank());
  }));
}

TEST(GroupTest, WrongArgumentsOfOneMemberEndTheCallOfAll) {
  const auto results = RunMembers(3, [](Group& group) {
    Ints mine(10);
    return group.Reduce(std::span(mine), Operation::Sum(), group.rank() == 1 ? 7 : 0);
  });
  EXPECT_EQ(results[1].code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(results[0].code(), absl::StatusCode::kInvalidArgument) << results[0];
  EXPECT_NE(std::string(results[0].message()).find("rank 1"), std::string::npos) << results[0];
}

TEST(GroupTest, AMemberThatLeavesIsNamed) {
  const auto results = RunMembers(3, [](Group& group) {
    if (group.rank() == 1) return absl::OkStatus();
    Ints mine(1000);
    return group.AllReduce(std::span(mine), Operation::Sum());
  });
  for (const int rank : {0, 2}) {
    EXPECT_FALSE(results[static_cast<std::size_t>(rank)].ok());
    EXPECT_NE(std::string(results[static_cast<std::size_t>(rank)].message()).find("rank 1"),
              std::string::npos)
        << results[static_cast<std::size_t>(rank)];
  }
}

// The root lets the first segment come unasked, and is gone before it asks for the second.
TEST(GroupTest, NobodyWaitsForRoomAtAMemberThatHasLeft) {
  GroupOptions options;
  options.call_timeout_s = 20;
  // Slow links have the least window, which is below a segment.
  options.network = {.bytes_per_s = 1e6, .latency_s = 5e-5};
  const auto results = RunMembers(
      2,
      [](Group& group) {
        if (group.rank() == 0) return absl::OkStatus();
        // Moving and combining take as long, so that segments overlap both.
        Ints mine(100'000);
        return group.Reduce(std::span(mine), Composition(/*seconds_per_element=*/8e-6), 0);
      },
      LoopbackNetwork(), options);
  EXPECT_EQ(results[1].code(), absl::StatusCode::kUnavailable) << results[1];
  EXPECT_NE(std::string(results[1].message()).find("rank 0"), std::string::npos) << results[1];
}

TEST(GroupTest, AMemberThatWaitsTooLongSaysForWhom) {
  GroupOptions options;
  options.call_timeout_s = 0.5;
  std::mutex mutex;
  std::condition_variable changed;
  int ended = 0;
  const auto results = RunMembers(
      2,
      [&](Group& group) {
        Ints mine(1000);
        absl::Status done;
        if (group.rank() == 0) done = group.Reduce(std::span(mine), Operation::Sum(), 0);
        std::unique_lock lock(mutex);
        ++ended;
        changed.notify_all();
        // Rank 1 is there, and never calls.
        changed.wait(lock, [&] { return group.rank() == 0 || ended == 2; });
        return done;
      },
      LoopbackNetwork(), options);
  EXPECT_EQ(results[0].code(), absl::StatusCode::kDeadlineExceeded) << results[0];
  EXPECT_NE(std::string(results[0].message()).find("data of rank 1"), std::string::npos);
}

// As one whose process or machine stands still: all it waits for has come when it goes on.
TEST(GroupTest, AMemberThatWasStoppedFindsWhatCameMeanwhile) {
  struct sigaction stops = {}, before = {};
  stops.sa_handler = [](int) {
    const timespec longer_than_the_timeout = {3, 0};
    ::nanosleep(&longer_than_the_timeout, nullptr);
  };
  ASSERT_EQ(::sigaction(SIGUSR1, &stops, &before), 0);
  GroupOptions options;
  options.call_timeout_s = 2;
  std::atomic<bool> calls = false, ended = false;
  pthread_t root = {};
  const auto results = RunMembers(
      2,
      [&](Group& group) {
        Ints mine(1000, 1);
        if (group.rank() == 0) {
          root = ::pthread_self();
          calls = true;
          absl::Status done = group.Reduce(std::span(mine), Operation::Sum(), 0);
          ended = true;
          return done.ok() ? Expect(mine, Ints(1000, 2), "another sum") : done;
        }
        while (!calls) absl::SleepFor(absl::Milliseconds(1));
        absl::SleepFor(absl::Milliseconds(300));
        ::pthread_kill(root, SIGUSR1);
        absl::SleepFor(absl::Milliseconds(100));
        const absl::Status done = group.Reduce(std::span(mine), Operation::Sum(), 0);
        while (!ended) absl::SleepFor(absl::Milliseconds(1));
        return done;
      },
      LoopbackNetwork(), options);
  ::sigaction(SIGUSR1, &before, nullptr);
  AllOk(results);
}

// The other one fills its socket meanwhile. As long as Mesh::kPeerSilence and some more.
TEST(GroupTest, AMemberMayBeLateForALongArray) {
  const auto results = RunMembers(2, [](Group& group) {
    Ints mine(8 << 20, group.rank() == 0 ? 7 : 0);
    if (group.rank() == 1) absl::SleepFor(Mesh::kPeerSilence + absl::Seconds(4));
    absl::Status done = group.Broadcast(std::span(mine), 0);
    return done.ok() ? Expect(mine, Ints(mine.size(), 7), "another array") : done;
  });
  AllOk(results);
}

// One member alone plans ahead, and is refused once: the others hear of neither.
TEST(GroupTest, WhatOneMemberHasPreparedIsCalledLikeAllElse) {
  constexpr std::size_t kLength = 1000;
  AllOk(RunMembers(4, [](Group& group) -> absl::Status {
    if (group.rank() == 1) {
      const absl::Status prepared[] = {
          group.PrepareReduce<std::int64_t>(kLength, Composition(), 2),
          group.PrepareAllReduce<std::int64_t>(kLength, Operation::Max()),
          group.PrepareBroadcast<std::int64_t>(kLength, 3)};
      for (const absl::Status& status : prepared) {
        if (!status.ok()) return status;
      }
      const absl::Status refused = group.PrepareBroadcast<std::int64_t>(kLength, 4);
      if (!absl::IsInvalidArgument(refused)) return absl::InternalError("there is no root 4");
      if (group.LastPrediction() != 0) return absl::InternalError("nothing was called yet");
    }
    Ints reduced = ElementOf(group.rank(), kLength);
    absl::Status done = group.Reduce(std::span(reduced), Composition(), 2);
    if (done.ok() && group.rank() == 2) {
      done = Expect(reduced, Folded(4, kLength, Compose), "reduce");
    }
    if (!done.ok()) return done;
    Ints all = ElementOf(group.rank(), kLength);
    done = group.AllReduce(std::span(all), Operation::Max());
    const auto larger = [](std::int64_t l, std::int64_t r) { return std::max(l, r); };
    if (done.ok()) done = Expect(all, Folded(4, kLength, larger), "all-reduce");
    if (!done.ok()) return done;
    Ints told = ElementOf(group.rank(), kLength);
    done = group.Broadcast(std::span(told), 3);
    return done.ok() ? Expect(told, ElementOf(3, kLength), "broadcast") : done;
  }));
}

TEST(GroupTest, PredictionAndTraceAreThere) {
  AllOk(RunMembers(4, [](Group& group) -> absl::Status {
    if (group.LastPrediction() != 0) return absl::InternalError("prediction before the first call");
    Ints mine(100'000);
    absl::Status done = group.Reduce(std::span(mine), Operation::Sum());
    if (!done.ok()) return done;
    if (!(group.LastPrediction() > 0) || !(group.LastDuration() > 0))
      return absl::InternalError("no times");
    if (group.LastReport().find("rank 3") == std::string::npos)
      return absl::InternalError(group.LastReport());
    if (group.LastGantt().find("<svg") == std::string::npos) return absl::InternalError("no SVG");
    return absl::OkStatus();
  }));
}

TEST(GroupTest, OptionsAreCheckedBeforeAnythingIsAsked) {
  LocalRendezvous rendezvous(LoopbackNetwork());
  GroupOptions options;
  options.group = "g";
  options.size = 0;
  EXPECT_EQ(JoinThrough(rendezvous, options).status().code(), absl::StatusCode::kInvalidArgument);
  options.size = 2;
  options.rank = 2;
  EXPECT_EQ(JoinThrough(rendezvous, options).status().code(), absl::StatusCode::kInvalidArgument);
  options.rank = 0;
  options.listen = "nobody";
  EXPECT_EQ(JoinThrough(rendezvous, options).status().code(), absl::StatusCode::kInvalidArgument);
}

/// Hears what a member asks for, and is no master.
class Listening final : public Rendezvous {
 public:
  absl::StatusOr<v1::JoinGroupResponse> Join(const v1::JoinGroupRequest& request) override {
    asked = request;
    return absl::UnavailableError("nobody is here");
  }
  v1::JoinGroupRequest asked;
};

// What comes without a rate was ignored without a word.
TEST(GroupTest, WhatIsKnownOfTheNetworkIsToldOrRefused) {
  Listening master;
  GroupOptions options;
  options.group = "g";
  options.network.channels = 2;
  EXPECT_TRUE(absl::IsUnavailable(JoinThrough(master, options).status()));
  EXPECT_EQ(master.asked.network().channels(), 2);
  EXPECT_EQ(master.asked.network().seconds_per_byte(), 0);
  options.network.latency_s = 1e-4;
  const absl::Status refused = JoinThrough(master, options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(std::string(refused.message()).find("network.latency_s"), std::string::npos) << refused;
  options.network.bytes_per_s = 1e9;
  EXPECT_TRUE(absl::IsUnavailable(JoinThrough(master, options).status()));
  EXPECT_EQ(master.asked.network().channels(), 2);
  EXPECT_EQ(master.asked.network().latency_s(), 1e-4);
}

}  // namespace
}  // namespace weir::reduce
