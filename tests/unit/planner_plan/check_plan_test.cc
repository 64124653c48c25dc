#include "planner/plan/check_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/planner_plan/two_by_two.h"

namespace weir::planner {
namespace {

using ::testing::HasSubstr;

TEST(CheckPlanTest, HandSolvedPlansAreFeasible) {
  EXPECT_EQ(CheckPlan(TwoByTwo(1)), absl::OkStatus());
  EXPECT_EQ(CheckPlan(TwoByTwo(0)), absl::OkStatus());
}

TEST(CheckPlanTest, PartsOfTheInputEndWithIt) {
  Plan plan = TwoByTwo(1);
  Bytes end = 0;
  for (const ComputeStep& step : plan.steps) end = std::max(end, step.input_end);
  plan.input_part_ends = {end / 3, end};
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  for (const std::vector<Bytes>& ends : std::vector<std::vector<Bytes>>{
           {0, end}, {5, 5, end}, {5, end - 1}, {5, end + 1}, {end + 1}}) {
    plan.input_part_ends = ends;
    EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("part of the input ends at"));
  }
  plan.input_part_ends.resize(static_cast<std::size_t>(end) + 1);
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("each of at least a byte"));
}

TEST(CheckPlanTest, EmptyPlanIsFeasible) {
  Plan plan;
  plan.network.num_workers = 1;
  plan.compute_order.resize(1);
  plan.send_order.resize(1);
  plan.receive_order.resize(1);
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
}

TEST(CheckPlanTest, FetchAllSharesPorts) {
  Plan plan = TwoByTwo(1);
  plan.transfer_order = TransferOrder::kFetchAll;
  plan.channel_order = {{}};
  plan.transfers[0].duration_s = 3;
  plan.transfers[1].start_s = 3;
  plan.transfers[1].duration_s = 3;
  plan.steps[3].start_s = 5;
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
}

TEST(CheckPlanTest, FetchLimitCountsWhatIsUnderWay) {
  // The section to worker 1 in two pieces, both from 3 s on.
  Plan plan = TwoByTwo(1);
  plan.transfers[0].bytes = 1;
  plan.transfers.push_back(Transfer{0, 3, 0, 1, 1, 1, plan.transfers[0].start_s, 2});
  plan.steps[3].after_transfers.push_back(2);
  plan.transfer_order = TransferOrder::kFetchAll;
  plan.send_order[0].push_back(2);
  plan.receive_order[1].push_back(2);
  plan.channel_order = {{}};
  plan.fetch_limit = 2;
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  plan.fetch_limit = 1;
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("Fetch limit is broken"));
}

TEST(CheckPlanTest, SectionInPiecesIsTiled) {
  Plan plan = TwoByTwo(1);
  plan.transfers[0].bytes = 1;
  plan.transfers[0].duration_s = 1;
  plan.transfers.push_back(Transfer{0, 3, 0, 1, 1, 1, 3, 1});
  plan.steps[3].after_transfers.push_back(2);
  plan.send_order[0].push_back(2);
  plan.receive_order[1].push_back(2);
  plan.channel_order = {{{0, 2, 1}}};
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
}

struct Mutation {
  const char* message;
  void (*apply)(Plan&);
};

void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.message; }

class CheckPlanMutationTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(CheckPlanMutationTest, IsRefused) {
  Plan plan = TwoByTwo(1);
  GetParam().apply(plan);
  const absl::Status status = CheckPlan(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Mutation kStructure[] = {
    {"network.num_workers", [](Plan& p) { p.network.num_workers = -1; }},
    {"has 1 compute rates", [](Plan& p) { p.compute_rate = {1}; }},
    {"compute rate of worker 1",
     [](Plan& p) {
       p.compute_rate = {1, 0};
     }},
    {"worker that does not exist", [](Plan& p) { p.steps[1].worker = 2; }},
    {"has no index range",
     [](Plan& p) {
       p.sections[0].indexes = IndexRange{3, 2};
     }},
    {"unknown transfer_order", [](Plan& p) { p.transfer_order = static_cast<TransferOrder>(-1); }},
    {"fetch_limit -1",
     [](Plan& p) {
       p.transfer_order = TransferOrder::kFetchAll;
       p.fetch_limit = -1;
     }},
    {"fetch_limit 2", [](Plan& p) { p.fetch_limit = 2; }},
    {"negative position", [](Plan& p) { p.steps[1].layer = -1; }},
    {"negative size", [](Plan& p) { p.steps[1].output_bytes = -1; }},
    {"outside [0, 1e100]", [](Plan& p) { p.steps[1].duration_s = std::nan(""); }},
    {"outside [0, 1e100]", [](Plan& p) { p.transfers[1].start_s = kInfinity; }},
    {"step that does not exist: 77", [](Plan& p) { p.steps[2].after_steps = {77}; }},
    {"in place, which is on worker 1", [](Plan& p) { p.steps[2].after_steps = {1}; }},
    {"names a step that does not exist", [](Plan& p) { p.transfers[0].producer = kNoIndex; }},
    {"but its steps are on workers", [](Plan& p) { p.transfers[0].sender = 1; }},
    {"handed over in place",
     [](Plan& p) {
       p.transfers[0].consumer = 2;
       p.transfers[0].receiver = 0;
     }},
    {"bad range", [](Plan& p) { p.transfers[0].offset = std::numeric_limits<Bytes>::max(); }},
    {"transfer that does not exist", [](Plan& p) { p.steps[2].after_transfers = {9}; }},
    {"whose consumer is step 3", [](Plan& p) { p.steps[2].after_transfers = {0}; }},
    {"waits twice",
     [](Plan& p) {
       p.steps[2].after_transfers = {1, 1};
     }},
    {"missing in after_transfers", [](Plan& p) { p.steps[2].after_transfers.clear(); }},
    {"compute_order has 1 lists", [](Plan& p) { p.compute_order.pop_back(); }},
    {"send_order has 0 lists", [](Plan& p) { p.send_order.clear(); }},
    {"which belongs to worker 1", [](Plan& p) { std::swap(p.send_order[0], p.send_order[1]); }},
    {"receive_order[1] holds transfer 0 twice",
     [](Plan& p) {
       p.receive_order[1] = {0, 0};
     }},
    {"compute_order[0] lacks step 2", [](Plan& p) { p.compute_order[0] = {0}; }},
    {"compute_order[0] names a step",
     [](Plan& p) {
       p.compute_order[0] = {0, -5};
     }},
    {"channel_order has 0 entries", [](Plan& p) { p.channel_order.clear(); }},
    {"channel_order[0] has 2 lanes",
     [](Plan& p) {
       p.channel_order = {{{0}, {1}}};
     }},
    {"channel_order[0] lacks transfer 1", [](Plan& p) { p.channel_order = {{{0}}}; }},
    {"holds transfer 0 twice",
     [](Plan& p) {
       p.channel_order = {{{0, 0, 1}}};
     }},
    {"does not cross cut total", [](Plan& p) { p.network.cuts[0].from[1] = false; }},
    {"channel_order[0] holds transfer 0 in 1 lanes",
     [](Plan& p) {
       // Worker 2 is slow, so a channel is four lanes and a pair at full rate takes all of them.
       p.network = LimitedTotal(3, 1, 1);
       p.network.port_slowdown = {1, 1, 4};
       for (auto* lists : {&p.compute_order, &p.send_order, &p.receive_order}) lists->resize(3);
     }},
};

// The reducers get no sections; nothing moves.
void ReadNothing(Plan& p) {
  p.sections.clear();
  p.transfers.clear();
  for (auto* lists : {&p.send_order, &p.receive_order}) {
    for (auto& list : *lists) list.clear();
  }
  p.channel_order = {{}};
  for (const std::size_t reducer : {2u, 3u}) {
    p.steps[reducer].after_steps.clear();
    p.steps[reducer].after_transfers.clear();
    p.steps[reducer].input_bytes = 0;
  }
}

const Mutation kLoads[] = {
    {"has no transfer",
     [](Plan& p) {
       p.transfers.pop_back();
       p.steps[2].after_transfers.clear();
       p.send_order[1].clear();
       p.receive_order[0].clear();
       p.channel_order = {{{0}}};
     }},
    {"move 1 bytes; it has 2", [](Plan& p) { p.transfers[0].bytes = 1; }},
    {"begins at byte 1", [](Plan& p) { p.transfers[0].offset = 1; }},
    {"moves bytes of no section", [](Plan& p) { p.sections.erase(p.sections.begin() + 1); }},
    {"are the same", [](Plan& p) { p.sections.push_back(p.sections[0]); }},
    {"Section 0 is out of range", [](Plan& p) { p.sections[0].bytes = -1; }},
    {"Section 0 is out of range", [](Plan& p) { p.sections[0].producer = 99; }},
    {"in place but does not wait", [](Plan& p) { p.steps[2].after_steps.clear(); }},
    {"Step 2 reads step 0 in place but does not wait",
     [](Plan& p) {
       // Another one waits for it.
       p.steps[2].after_steps.clear();
       p.steps[0].after_steps = {0};
     }},
    {"Map input does not tile", [](Plan& p) { p.steps[1].input_begin = 9; }},
    {"Map input does not tile", [](Plan& p) { p.steps[0].input_begin = 1; }},
    {"its input range holds 10", [](Plan& p) { p.steps[1].input_bytes = 11; }},
    {"numbered from 0", [](Plan& p) { p.steps[1].index_in_layer = 0; }},
    {"add up to 0.9",
     [](Plan& p) {
       p.steps[2].load_fraction = 0.4;
       p.steps[2].key_end = 0.4;
     }},
    {"do not tile: step 2",
     [](Plan& p) {
       p.steps[2].key_begin = 0.25;
       p.steps[2].key_end = 0.75;
     }},
    {"bad share", [](Plan& p) { p.steps[2].key_end = std::nan(""); }},
    {"reduces in layer 0", [](Plan& p) { p.steps[2].layer = p.steps[3].layer = 0; }},
    {"reduces layer 2 but reads step 0 of layer 0",
     [](Plan& p) { p.steps[2].layer = p.steps[3].layer = 2; }},
    {"Step 2 reduces layer 2, but no step reduces layer 1",
     [](Plan& p) {
       ReadNothing(p);
       p.steps[2].layer = p.steps[3].layer = 2;
     }},
    {"has sections from 0 of the 2 steps of layer 0", [](Plan& p) { ReadNothing(p); }},
    {"Step 2 reduces layer 1, but no section brings it what 2 steps of layer 0 made",
     [](Plan& p) {
       // Two steps of another layer read them, in place, and nobody reads those.
       ReadNothing(p);
       for (const int j : {0, 1}) {
         ComputeStep combine;
         combine.kind = StepKind::kCombine;
         combine.layer = 3;
         combine.index_in_layer = j;
         combine.worker = j;
         combine.after_steps = {j};
         p.steps.push_back(combine);
         p.sections.push_back({j, 4 + j, 4, IndexRange{0, 4}});
         p.compute_order[static_cast<std::size_t>(j)].push_back(4 + j);
       }
     }},
    {"Step 0 maps input, but has a section from step 2",
     [](Plan& p) {
       p.steps[0].after_steps = {2};
       p.sections.push_back({2, 0, 0});
     }},
    {"makes 5 bytes, but its sections hold 4", [](Plan& p) { p.steps[0].output_bytes = 5; }},
    {"reads 3 bytes, but its sections hold 4", [](Plan& p) { p.steps[2].input_bytes = 3; }},
};

const Mutation kTimes[] = {
    {"have a cycle", [](Plan& p) { std::swap(p.compute_order[0][0], p.compute_order[0][1]); }},
    {"is planned to last 1 s", [](Plan& p) { p.transfers[0].duration_s = 1; }},
    {"Step 0 takes 2.5 s for what it puts on disk, and lasts only 2 s",
     [](Plan& p) { p.steps[0].spill_s = 2.5; }},
    {"before its release", [](Plan& p) { p.steps[0].release_s = 0.5; }},
    {"transfer 0 starts at 1.5 s, but step 0 ends at 2 s",
     [](Plan& p) { p.transfers[0].start_s = 1.5; }},
    {"step 2 starts at 5 s, but transfer 1 ends at 6 s", [](Plan& p) { p.steps[2].start_s = 5; }},
    {"Channel limit of cut total is broken", [](Plan& p) { p.transfers[1].start_s = 3; }},
    {"Channel limit of cut total is broken",
     [](Plan& p) {
       p.channel_order = {{{1, 0}}};
     }},
    {"summary.makespan_s is 6", [](Plan& p) { p.summary.makespan_s = 6; }},
    {"summary.makespan_s is nan", [](Plan& p) { p.summary.makespan_s = std::nan(""); }},
    {"summary.lower_bound_s is 8", [](Plan& p) { p.summary.lower_bound_s = 8; }},
};

INSTANTIATE_TEST_SUITE_P(Structure, CheckPlanMutationTest, ::testing::ValuesIn(kStructure));
INSTANTIATE_TEST_SUITE_P(Loads, CheckPlanMutationTest, ::testing::ValuesIn(kLoads));
INSTANTIATE_TEST_SUITE_P(Times, CheckPlanMutationTest, ::testing::ValuesIn(kTimes));

// Worker 0 sends a section to each of the others; no cut is there to object. `sent` holds bytes,
// start and duration of each.
Plan OneToOthers(const std::vector<Transfer>& sent) {
  Plan plan;
  const auto num_workers = static_cast<std::int32_t>(sent.size()) + 1;
  plan.network.num_workers = num_workers;
  plan.network.seconds_per_byte = 1;
  plan.steps.resize(sent.size() + 1);
  for (auto* lists : {&plan.compute_order, &plan.send_order, &plan.receive_order}) {
    lists->resize(sent.size() + 1);
  }
  for (std::int32_t i = 0; i < num_workers; ++i) {
    ComputeStep& step = plan.steps[At(i)];
    step.kind = StepKind::kCombine;
    step.worker = i;
    plan.compute_order[At(i)] = {i};
    if (i == 0) continue;
    Transfer transfer = sent[At(i - 1)];
    transfer.producer = 0;
    transfer.consumer = transfer.receiver = i;
    step.after_transfers = {i - 1};
    step.start_s = transfer.start_s + transfer.duration_s;
    plan.summary.makespan_s = std::max(plan.summary.makespan_s, step.start_s);
    plan.sections.push_back({0, i, transfer.bytes});
    plan.transfers.push_back(transfer);
    plan.send_order[0].push_back(i - 1);
    plan.receive_order[At(i)] = {i - 1};
  }
  return plan;
}

Transfer Sent(Bytes bytes, Seconds start_s, Seconds duration_s) {
  Transfer transfer;
  transfer.bytes = bytes;
  transfer.start_s = start_s;
  transfer.duration_s = duration_s;
  return transfer;
}

TEST(CheckPlanTest, TwoSendsAtOnceBreakTheOnePortRule) {
  EXPECT_THAT(std::string(CheckPlan(OneToOthers({Sent(1, 0, 1), Sent(1, 0.5, 1)})).message()),
              HasSubstr("One-port rule (send) is broken"));
  EXPECT_EQ(CheckPlan(OneToOthers({Sent(1, 0, 1), Sent(1, 1, 1)})), absl::OkStatus());
}

TEST(CheckPlanTest, FetchAllEndsNoEarlierThanAPortCarries) {
  Plan plan = OneToOthers({Sent(1, 0, 1), Sent(1, 0.5, 1)});
  plan.transfer_order = TransferOrder::kFetchAll;
  EXPECT_THAT(std::string(CheckPlan(plan).message()),
              HasSubstr("share the send port of worker 0 are planned to end earlier than it can "
                        "carry them: transfer 1 at 1.5 s"));
  plan = OneToOthers({Sent(1, 0, 1), Sent(1, 0.5, 1.5)});
  plan.transfer_order = TransferOrder::kFetchAll;
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  // Latencies overlap, and nothing flows in them.
  plan = OneToOthers({Sent(1, 0, 2), Sent(1, 0, 3)});
  plan.transfer_order = TransferOrder::kFetchAll;
  plan.network.latency_s = 1;
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  plan = OneToOthers({Sent(1, 0, 2), Sent(1, 0, 2.5)});
  plan.transfer_order = TransferOrder::kFetchAll;
  plan.network.latency_s = 1;
  EXPECT_EQ(CheckPlan(plan).code(), absl::StatusCode::kInvalidArgument);
}

TEST(CheckPlanTest, FetchAllEndsNoEarlierThanACutCarries) {
  // FetchAllSharesPorts with both at an end when three of the four bytes can have crossed.
  Plan plan = TwoByTwo(1);
  plan.transfer_order = TransferOrder::kFetchAll;
  plan.channel_order = {{}};
  plan.transfers[0].duration_s = 3;
  plan.transfers[1].start_s = 3;
  plan.steps[3].start_s = 5;
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("share cut total"));
}

// Every span from a begin to an end holds no more bytes than the port moves in it: of one rate that
// is all that can be asked. One byte takes one second, and there is no latency.
bool EverySpanHoldsItsBytes(const std::vector<Transfer>& sent) {
  for (const Transfer& first : sent) {
    for (const Transfer& last : sent) {
      const Seconds until_s = last.start_s + last.duration_s;
      Bytes within = 0;
      for (const Transfer& t : sent) {
        if (t.start_s < first.start_s || t.start_s + t.duration_s > until_s) continue;
        within += t.bytes;
      }
      if (within > 0 && static_cast<double>(within) > until_s - first.start_s) return false;
    }
  }
  return true;
}

TEST(CheckPlanTest, FetchAllIsRefusedExactlyWhereASpanHoldsTooMuch) {
  std::mt19937 random(11);
  int num_refused = 0;
  constexpr int kRuns = 4000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<Transfer> sent(2 + random() % 5);
    for (Transfer& transfer : sent) {
      const auto bytes = static_cast<Bytes>(random() % 4);
      transfer = Sent(bytes, static_cast<double>(random() % 4),
                      static_cast<double>(bytes) + static_cast<double>(random() % 4));
    }
    Plan plan = OneToOthers(sent);
    plan.transfer_order = TransferOrder::kFetchAll;
    const absl::Status status = CheckPlan(plan);
    ASSERT_EQ(status.ok(), EverySpanHoldsItsBytes(sent)) << run << " " << status;
    num_refused += status.ok() ? 0 : 1;
  }
  EXPECT_GT(num_refused, kRuns / 10);
  EXPECT_LT(num_refused, kRuns * 9 / 10);
}

}  // namespace
}  // namespace weir::planner
