#include "planner/wire/plan_wire.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"

namespace weir::planner {
namespace {

using IndexLists = std::vector<std::vector<std::vector<TransferIndex>>>;

// Any content will do: the bridge must not depend on feasibility.
Plan RandomPlan() {
  Plan plan;
  const auto index = [] { return *rc::gen::inRange<std::int32_t>(-1, 50); };
  const auto real = [] { return *rc::gen::inRange(-1000, 1000) / 7.0; };
  const auto size = [] { return *rc::gen::inRange<Bytes>(0, Bytes{1} << 50); };
  const auto indices = [] {
    return *rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange<std::int32_t>(0, 99));
  };
  const auto lists = [&] {
    std::vector<std::vector<std::int32_t>> out(*rc::gen::inRange<std::size_t>(0, 4));
    for (auto& list : out) list = indices();
    return out;
  };
  plan.network.num_workers = index();
  plan.network.seconds_per_byte = real();
  plan.network.latency_s = real();
  plan.network.port_slowdown = {real(), real()};
  plan.network.port_lag = {real(), real()};
  plan.network.cuts.push_back({"rack up", {true, false}, {false, true}, index()});
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    ComputeStep step;
    step.kind = kStepKinds[*rc::gen::inRange<std::size_t>(0, std::size(kStepKinds))];
    step.layer = index();
    step.index_in_layer = index();
    step.worker = index();
    step.input_begin = size();
    step.input_end = size();
    step.input_bytes = size();
    step.output_bytes = size();
    step.load_fraction = real();
    step.key_begin = real();
    step.key_end = real();
    step.release_s = real();
    step.duration_s = real();
    step.spilled_bytes = size();
    step.spill_s = real();
    step.start_s = real();
    step.after_steps = indices();
    step.after_transfers = indices();
    plan.steps.push_back(step);
    plan.transfers.push_back({index(), index(), index(), index(), size(), size(), real(), real()});
    plan.sections.push_back({index(), index(), size(), std::nullopt});
    if (*rc::gen::arbitrary<bool>()) plan.sections.back().indexes = IndexRange{size(), size()};
  }
  for (Transfer& transfer : plan.transfers) {
    transfer.rate_bytes_per_s = real();
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
      transfer.rate_changes.push_back({real(), real()});
  }
  plan.transfer_order = static_cast<TransferOrder>(*rc::gen::inRange(0, 4));
  plan.network.pacing_fraction = real();
  plan.network.sharing_fraction = real();
  plan.network.cut_sharing_fraction = real();
  plan.network.sharing_resent_fraction = real();
  plan.network.transfer_gap_s = real();
  plan.fetch_limit = *rc::gen::inRange(0, 9);
  plan.port_lanes = *rc::gen::inRange(0, 9);
  plan.rates_over_time = *rc::gen::arbitrary<bool>();
  plan.compute_order = lists();
  plan.send_order = lists();
  plan.receive_order = lists();
  plan.channel_order = {lists(), lists()};
  plan.store_channels = index();
  for (int i = 0; i < 3; ++i) {
    plan.run_codec.push_back(*rc::gen::element(Codec::kNone, Codec::kLz4, Codec::kZstd));
  }
  plan.store_order = lists();
  plan.compute_rate = {real(), real()};
  plan.part_cost = {0.25, 0.5};
  plan.input_part_ends = {30, 80, 100};
  plan.summary = {
      "even", real(), real(), {"a note", ""}, {{"map time", real(), "s", "sampled"}, {}}};
  return plan;
}

std::string IdOf(const Plan& plan) { return PlanToProto(plan, {}).plan_id(); }

// Every field crosses: the id covers all content, so equal ids after the round trip mean that
// nothing was lost.
RC_GTEST_PROP(PlanWire, RoundTripKeepsEverything, ()) {
  const Plan plan = RandomPlan();
  const absl::StatusOr<Plan> back = PlanFromProto(PlanToProto(plan, {"a", "b"}));
  RC_ASSERT(back.ok());
  RC_ASSERT(IdOf(*back) == IdOf(plan));
  RC_ASSERT(back->network.cuts[0].from == plan.network.cuts[0].from);
  RC_ASSERT(back->network.cuts[0].to == plan.network.cuts[0].to);
  RC_ASSERT(back->channel_order == plan.channel_order);
  RC_ASSERT(back->store_channels == plan.store_channels);
  RC_ASSERT(back->store_order == plan.store_order);
  RC_ASSERT(back->fetch_limit == plan.fetch_limit);
  RC_ASSERT(back->port_lanes == plan.port_lanes);
  RC_ASSERT(back->rates_over_time == plan.rates_over_time);
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    RC_ASSERT(back->transfers[i].rate_changes == plan.transfers[i].rate_changes);
  }
  RC_ASSERT(back->run_codec == plan.run_codec);
  RC_ASSERT(back->steps.size() == plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    RC_ASSERT(back->steps[i].kind == plan.steps[i].kind);
    RC_ASSERT(back->steps[i].key_end == plan.steps[i].key_end);
    RC_ASSERT(back->steps[i].after_transfers == plan.steps[i].after_transfers);
    RC_ASSERT(back->transfers[i].offset == plan.transfers[i].offset);
  }
}

TEST(PlanWire, IdChangesWithContentAndNotWithNames) {
  Plan plan;
  plan.network.num_workers = 2;
  const std::string id = IdOf(plan);
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(PlanToProto(plan, {"a"}).plan_id(), id);
  EXPECT_EQ(PlanToProto(plan, {"b"}).plan_id(), id);
  plan.network.num_workers = 3;
  EXPECT_NE(IdOf(plan), id);
}

TEST(PlanWire, PlansOfWholeChannelsGetLanes) {
  // Workers 0 (full rate) and 1 (a quarter) send to worker 2 through one channel.
  NetworkModel network = LimitedTotal(3, 1, 1);
  PlanAssembly assembly(network);
  LayerDraft layer;
  layer.reducers = {{2, 1}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 1.0; };
  ASSERT_EQ(assembly.AddMappers({{0, 2, 2, 0, 1}, {1, 2, 2, 0, 1}}), absl::OkStatus());
  ASSERT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  Plan plan = assembly.TakePlan();
  plan.network.port_slowdown = {1, 4, 1};
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  const Plan with_lanes = plan;
  EXPECT_EQ(with_lanes.channel_order, (IndexLists{{{0, 1}, {0}, {0}, {0}}}));
  plan.channel_order = {{{0, 1}}};
  EXPECT_FALSE(CheckPlan(plan).ok());
  absl::StatusOr<Plan> back = PlanFromProto(PlanToProto(plan, {}));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->channel_order, with_lanes.channel_order);
  EXPECT_EQ(CheckPlan(*back), absl::OkStatus());
  back = PlanFromProto(PlanToProto(with_lanes, {}));
  EXPECT_EQ(IdOf(*back), IdOf(with_lanes));
  // One that lacks a transfer stays as it is, for CheckPlan.
  plan.channel_order = {{{1}}};
  EXPECT_EQ(PlanFromProto(PlanToProto(plan, {}))->channel_order, plan.channel_order);
}

TEST(PlanWire, RefusesUnknownEnums) {
  v1::Plan message = PlanToProto(Plan{}, {});
  message.set_transfer_order(v1::TRANSFER_ORDER_UNSPECIFIED);
  EXPECT_EQ(PlanFromProto(message).status().code(), absl::StatusCode::kInvalidArgument);
  message = PlanToProto(Plan{}, {});
  message.add_steps();
  EXPECT_EQ(PlanFromProto(message).status().code(), absl::StatusCode::kInvalidArgument);
  message = PlanToProto(Plan{}, {});
  message.add_run_codec(static_cast<v1::Codec>(7));
  EXPECT_EQ(PlanFromProto(message).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PlanWire, ActualRunMustFitItsPlan) {
  Plan plan;
  plan.steps.resize(2);
  plan.transfers.resize(1);
  ActualRun actual;
  actual.steps = {{0, 1}, {1, 2.5}};
  actual.transfers = {{1, 1.25}};
  actual.transfer_bytes = {77};
  plan.rates_over_time = true;
  actual.transfer_rates = {{{1, 5}, {1.125, 7}}};
  actual.step_input_bytes.assign(actual.steps.size(), 5);
  actual.step_output_bytes.assign(actual.steps.size(), 6);
  actual.step_unpacked_output_bytes.assign(actual.steps.size(), 9);
  actual.step_spilled_bytes.assign(actual.steps.size(), 3);
  actual.makespan_s = 2.5;
  const absl::StatusOr<ActualRun> back = ActualFromProto(ActualToProto(actual), plan);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->steps[1].finish_s, 2.5);
  EXPECT_EQ(back->transfer_bytes, actual.transfer_bytes);
  EXPECT_EQ(back->transfer_rates, actual.transfer_rates);
  EXPECT_EQ(back->step_input_bytes, actual.step_input_bytes);
  EXPECT_EQ(back->step_output_bytes, actual.step_output_bytes);
  EXPECT_EQ(back->step_unpacked_output_bytes, actual.step_unpacked_output_bytes);
  EXPECT_EQ(back->step_spilled_bytes, actual.step_spilled_bytes);
  EXPECT_EQ(back->makespan_s, 2.5);
  plan.steps.resize(3);
  EXPECT_FALSE(ActualFromProto(ActualToProto(actual), plan).ok());
}

}  // namespace
}  // namespace weir::planner
