#include "tests/bench/conduct/conducted_shuffle.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "planner/job/builders/plan_job.h"
#include "planner/plan/network_model.h"
#include "planner/plan/units.h"

namespace weir::bench {

using planner::At;
using planner::StepIndex;
using planner::TransferIndex;

namespace {

constexpr double kSlowness = 10;
constexpr absl::Duration kLook = absl::Milliseconds(500);

Reality AsPlanned() {
  return {[](const planner::ComputeStep& step) { return step.duration_s; },
          [](const planner::Transfer&, double model_s) { return model_s; }};
}

Reality SlowMapper(double makespan_s) {
  Reality reality = AsPlanned();
  reality.step_seconds = [makespan_s](const planner::ComputeStep& step) {
    const bool slow = step.worker == 1 && step.layer == 0;
    return slow ? makespan_s : step.duration_s;
  };
  return reality;
}

Reality SlowReceiver() {
  Reality reality = AsPlanned();
  reality.transfer_seconds = [](const planner::Transfer& transfer, double model_s) {
    return transfer.receiver == 1 ? kSlowness * model_s : model_s;
  };
  return reality;
}

Reality SlowSender() {
  Reality reality = AsPlanned();
  reality.transfer_seconds = [](const planner::Transfer& transfer, double model_s) {
    return transfer.sender == 1 ? kSlowness * model_s : model_s;
  };
  return reality;
}

}  // namespace

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

planner::Plan Shuffle(std::int32_t num_workers, std::int32_t channels) {
  planner::JobShape shape;
  shape.input_bytes = std::int64_t{num_workers} * num_workers * 1'000'000;
  shape.map_seconds_per_byte.value = 1e-8;
  shape.map_output_ratio.value = 1;
  planner::LayerShape layer;
  layer.reduce_seconds_per_byte.value = 1e-9;
  shape.layers = {layer};
  planner::ClusterProfile cluster;
  cluster.workers.resize(At(num_workers));
  cluster.network = planner::LimitedTotal(num_workers, 1 / 1.25e7, channels);
  cluster.network.latency_s = 1e-3;
  if (channels == 0) cluster.network.cuts.clear();
  absl::StatusOr<planner::Plan> plan =
      planner::PlanJob(shape, cluster, {planner::PlanMethod::kEven});
  if (!plan.ok()) {
    std::fprintf(stderr, "cannot plan: %s\n", plan.status().ToString().c_str());
    std::exit(1);
  }
  plan->transfer_order = planner::TransferOrder::kOvertake;
  return *std::move(plan);
}

std::vector<std::pair<const char*, Reality>> Realities(const planner::Prediction& prediction) {
  return {{"as planned", AsPlanned()},
          {"a map as long as the shuffle", SlowMapper(prediction.makespan_s)},
          {"a receiver at a tenth of its rate", SlowReceiver()},
          {"a sender at a tenth of its rate", SlowSender()}};
}

void Turns::Add(double seconds) {
  ++count;
  all_s += seconds;
  longest_s = std::max(longest_s, seconds);
}

ConductedShuffle::ConductedShuffle(const planner::Plan& plan, const planner::Prediction& prediction,
                                   Reality reality)
    : plan_(plan),
      reality_(std::move(reality)),
      sections_(plan.steps.size()),
      conductor_(plan, prediction, std::vector<std::string>(At(plan.network.num_workers))),
      step_runs_(plan.steps.size()) {
  std::vector<planner::Bytes> offsets(plan.steps.size());
  for (const planner::Section& section : plan.sections) {
    planner::Bytes& offset = offsets[At(section.producer)];
    sections_[At(section.producer)].push_back(
        {section.consumer, offset, section.bytes, section.bytes});
    offset += section.bytes;
  }
}

MonoTime ConductedShuffle::NextMoment() const {
  const auto wakeup = conductor_.NextWakeup();
  if (events_.empty() && !wakeup) {
    std::fprintf(stderr, "stuck\n");
    std::exit(1);
  }
  const MonoTime event = events_.empty() ? *wakeup : MonoTime::FromNanos(events_.top().at_nanos);
  return wakeup ? std::max(now_, std::min(*wakeup, event)) : event;
}

void ConductedShuffle::Run(const std::function<void()>& look) {
  Timed([this](master::ConductorOrders& orders) { orders = conductor_.Begin(now_); });
  MonoTime next_look = now_ + kLook;
  while (!finished_) {
    const MonoTime next = NextMoment();
    if (look && next_look <= next) {
      now_ = next_look;
      next_look = next_look + kLook;
      look();
      continue;
    }
    now_ = next;
    if (conductor_.NextWakeup() && *conductor_.NextWakeup() <= now_) {
      Timed([this](master::ConductorOrders& orders) { orders = conductor_.Wake(now_); });
      continue;
    }
    const Event event = events_.top();
    events_.pop();
    Timed([this, &event](master::ConductorOrders& orders) {
      const absl::Status taken =
          event.step != planner::kNoIndex
              ? conductor_.StepDone(event.step, sections_[At(event.step)], now_, orders)
              : conductor_.TransferDone(event.transfer, now_, orders);
      if (!taken.ok()) std::exit(1);
    });
  }
}

std::vector<planner::Bytes> ConductedShuffle::StepBytesDone() const {
  std::vector<planner::Bytes> done(plan_.steps.size(), 0);
  for (std::size_t s = 0; s < done.size(); ++s) {
    const auto& [from_s, seconds] = step_runs_[s];
    if (!conductor_.step_under_way(static_cast<StepIndex>(s)) || seconds <= 0) continue;
    done[s] = static_cast<planner::Bytes>((now_s() - from_s) / seconds *
                                          static_cast<double>(plan_.steps[s].input_bytes));
  }
  return done;
}

void ConductedShuffle::Timed(const std::function<void(master::ConductorOrders&)>& call) {
  master::ConductorOrders orders;
  const double begin_s = CpuSeconds();
  call(orders);
  turns_.Add(CpuSeconds() - begin_s);
  for (const master::StepStart& start : orders.steps) {
    const double seconds = reality_.step_seconds(plan_.steps[At(start.step)]);
    step_runs_[At(start.step)] = {now_s(), seconds};
    After(seconds, start.step, planner::kNoIndex);
  }
  for (const master::TransferStart& start : orders.transfers) {
    const planner::Transfer& transfer = plan_.transfers[At(start.transfer)];
    const double model_s =
        plan_.network.TransferSeconds(transfer.sender, transfer.receiver, start.bytes);
    After(reality_.transfer_seconds(transfer, model_s), planner::kNoIndex, start.transfer);
  }
  finished_ = finished_ || orders.finished;
}

void ConductedShuffle::After(double seconds, StepIndex step, TransferIndex transfer) {
  const MonoTime at = now_ + absl::Seconds(seconds);
  events_.push({at.nanos(), number_++, step, transfer});
}

}  // namespace weir::bench
