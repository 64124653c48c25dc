// What the conductor costs the master: one shuffle of all workers with all, run from its first
// order to its last under virtual time, once as planned and once with one straggler of each kind.
// Seconds are those inside the conductor; the last column is the ratio to the run as planned of the
// same network, in the same process.
//
// conduct_bench [--workers N] [--repeats N] [--json]      500 workers, the least of 3 repeats

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "tests/bench/bench_program.h"

namespace weir::bench {
namespace {

using master::ConductorMachine;
using master::ConductorOrders;
using planner::At;
using planner::StepIndex;
using planner::TransferIndex;

constexpr double kSlowness = 10;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Every worker maps, then sends 1 MB to every other one over links of 100 Mbit/s.
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
  cluster.network.num_workers = num_workers;
  cluster.network.seconds_per_byte = 1 / 1.25e7;
  cluster.network.latency_s = 1e-3;
  if (channels > 0) {
    planner::Cut cut;
    cut.name = "limited total";
    cut.from.assign(At(num_workers), true);
    cut.to.assign(At(num_workers), true);
    cut.channels = channels;
    cluster.network.cuts = {cut};
  }
  absl::StatusOr<planner::Plan> plan =
      planner::PlanJob(shape, cluster, {planner::PlanMethod::kEven});
  if (!plan.ok()) {
    std::fprintf(stderr, "cannot plan: %s\n", plan.status().ToString().c_str());
    std::exit(1);
  }
  plan->transfer_order = planner::TransferOrder::kOvertake;
  return *std::move(plan);
}

/// How long things really take, given what the plan says.
struct Reality {
  std::function<double(const planner::ComputeStep&)> step_seconds;
  std::function<double(const planner::Transfer&, double)> transfer_seconds;
};

/// Runs one plan. Calls of the conductor are timed; what stands for workers is not.
class Run {
 public:
  Run(const planner::Plan& plan, const planner::Prediction& prediction, Reality reality)
      : plan_(plan),
        reality_(std::move(reality)),
        sections_(plan.steps.size()),
        conductor_(plan, prediction, std::vector<std::string>(At(plan.network.num_workers))) {
    std::vector<planner::Bytes> offsets(plan.steps.size());
    for (const planner::Section& section : plan.sections) {
      planner::Bytes& offset = offsets[At(section.producer)];
      sections_[At(section.producer)].push_back(
          {section.consumer, offset, section.bytes, section.bytes});
      offset += section.bytes;
    }
  }

  double SecondsInside() {
    Timed([this](ConductorOrders& orders) { orders = conductor_.Begin(now_); });
    while (!finished_) {
      if (conductor_.NextWakeup() &&
          (events_.empty() || conductor_.NextWakeup()->nanos() <= events_.top().at_nanos)) {
        now_ = std::max(now_, *conductor_.NextWakeup());
        Timed([this](ConductorOrders& orders) { orders = conductor_.Wake(now_); });
        continue;
      }
      if (events_.empty()) {
        std::fprintf(stderr, "stuck\n");
        std::exit(1);
      }
      const Event event = events_.top();
      events_.pop();
      now_ = MonoTime::FromNanos(event.at_nanos);
      Timed([this, &event](ConductorOrders& orders) {
        const absl::Status taken =
            event.step != planner::kNoIndex
                ? conductor_.StepDone(event.step, sections_[At(event.step)], now_, orders)
                : conductor_.TransferDone(event.transfer, now_, orders);
        if (!taken.ok()) std::exit(1);
      });
    }
    return inside_s_;
  }

 private:
  struct Event {
    std::int64_t at_nanos = 0;
    std::int64_t number = 0;
    StepIndex step = planner::kNoIndex;
    TransferIndex transfer = planner::kNoIndex;
    bool operator<(const Event& other) const {
      return std::pair(at_nanos, number) > std::pair(other.at_nanos, other.number);
    }
  };

  void Timed(const std::function<void(ConductorOrders&)>& call) {
    ConductorOrders orders;
    const double begin_s = CpuSeconds();
    call(orders);
    inside_s_ += CpuSeconds() - begin_s;
    for (const master::StepStart& start : orders.steps) {
      After(reality_.step_seconds(plan_.steps[At(start.step)]), start.step, planner::kNoIndex);
    }
    for (const master::TransferStart& start : orders.transfers) {
      const planner::Transfer& transfer = plan_.transfers[At(start.transfer)];
      const double model_s =
          plan_.network.TransferSeconds(transfer.sender, transfer.receiver, start.bytes);
      After(reality_.transfer_seconds(transfer, model_s), planner::kNoIndex, start.transfer);
    }
    finished_ = finished_ || orders.finished;
  }

  void After(double seconds, StepIndex step, TransferIndex transfer) {
    const MonoTime at = now_ + absl::Seconds(seconds);
    events_.push({at.nanos(), number_++, step, transfer});
  }

  const planner::Plan& plan_;
  const Reality reality_;
  std::vector<std::vector<master::RunSection>> sections_;
  ConductorMachine conductor_;
  MonoTime now_;
  std::priority_queue<Event> events_;
  std::int64_t number_ = 0;
  double inside_s_ = 0;
  bool finished_ = false;
};

Reality AsPlanned() {
  return {[](const planner::ComputeStep& step) { return step.duration_s; },
          [](const planner::Transfer&, double model_s) { return model_s; }};
}

/// Worker 1 maps as long as the shuffle of the others takes.
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

struct Options {
  std::int32_t num_workers = 500;
  int repeats = 1;
  bool json = false;
};

void Measure(const Options& options, const std::string& network, std::int32_t channels) {
  const planner::Plan plan = Shuffle(options.num_workers, channels);
  const absl::StatusOr<planner::Prediction> prediction = planner::Predict(plan);
  if (!prediction.ok()) std::exit(1);
  const std::pair<const char*, Reality> cases[] = {
      {"as planned", AsPlanned()},
      {"a map as long as the shuffle", SlowMapper(prediction->makespan_s)},
      {"a receiver at a tenth of its rate", SlowReceiver()},
      {"a sender at a tenth of its rate", SlowSender()}};
  double as_planned_s = 0;
  for (const auto& [name, reality] : cases) {
    double least_s = Run(plan, *prediction, reality).SecondsInside();
    for (int repeat = 1; repeat < options.repeats; ++repeat) {
      least_s = std::min(least_s, Run(plan, *prediction, reality).SecondsInside());
    }
    if (as_planned_s == 0) as_planned_s = least_s;
    const double us = least_s * 1e6 / static_cast<double>(plan.transfers.size());
    const double ratio = least_s / as_planned_s;
    if (options.json) {
      std::printf(
          "{\"network\": \"%s\", \"run\": \"%s\", \"transfers\": %zu, \"seconds\": %.4g, "
          "\"us_per_transfer\": %.4g, \"ratio\": %.4g}\n",
          network.c_str(), name, plan.transfers.size(), least_s, us, ratio);
    } else {
      std::printf("%-16s %-36s %8zu transfers %9.3f s %8.2f us each %7.2f\n", network.c_str(), name,
                  plan.transfers.size(), least_s, us, ratio);
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  namespace bench = weir::bench;
  bench::Options options;
  bench::ReadFlags(argc, argv,
                   {{.name = "--json", .given = &options.json},
                    {.name = "--workers", .number = &options.num_workers, .least = 2},
                    {.name = "--repeats", .number = &options.repeats}},
                   "conduct_bench [--workers N] [--repeats N] [--json]");
  bench::Measure(options, "ports only", 0);
  bench::Measure(options, "a fifth at once", options.num_workers / 5);
  return 0;
}
