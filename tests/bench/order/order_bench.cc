// How far from its bound the order of a shuffle is, and how long it takes to find: all workers to
// all, by sections (equal, a skewed key, random), networks (ports only, one limited total, racks)
// and ends of the mappers (at once, in waves). Each is ordered by the list rule and as jobs are
// (OrderBySlack); ratios are predicted makespan over OrderBound, both in the same run. Seconds are
// CPU seconds of the orders alone.
//
// order_bench [--workers N] [--json] [--check]     16, 64, 128 and 500 workers; --check: status 1
// where the order of a job is further from the bound, or takes longer, than the bars say

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/order/unevenness.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/units.h"
#include "tests/bench/bench_program.h"

namespace weir::bench {
namespace {

using planner::At;
using planner::Bytes;
using planner::NetworkModel;
using planner::Plan;
using planner::Seconds;
using planner::WorkerIndex;

// A section of the mean size takes this long at full rate: a few grants' worth.
constexpr Seconds kSectionS = 0.4;
constexpr double kSecondsPerByte = 1 / 1.25e8;
constexpr Seconds kLatencyS = 1e-3;
// Racks of 16 hosts, or of a quarter of all, behind a quarter of their ports.
constexpr std::int32_t kRackHosts = 16;
constexpr std::int32_t kOversubscription = 4;
constexpr int kWaves = 4;

/// Bars of --check: predicted over bound, and CPU seconds. Fewer workers have none: their plans are
/// matched, and what is left is mostly the bound's.
struct Bar {
  std::int32_t workers_min = 0;
  std::int32_t workers_max = 0;
  double ratio = 0;
  double seconds = 0;
};
constexpr std::array<Bar, 2> kBars = {{{17, 64, 1.01, 0.2}, {65, 500, 1.03, 5}}};

struct Options {
  int num_workers = 0;  // 0: all sizes
  bool json = false;
  bool check = false;
};

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

NetworkModel PortsOnly(std::int32_t n) {
  NetworkModel network;
  network.num_workers = n;
  network.seconds_per_byte = kSecondsPerByte;
  network.latency_s = kLatencyS;
  return network;
}

NetworkModel OneTotal(std::int32_t n) {
  NetworkModel network = planner::LimitedTotal(n, kSecondsPerByte, n / kOversubscription);
  network.latency_s = kLatencyS;
  return network;
}

NetworkModel Racks(std::int32_t n) {
  NetworkModel network = PortsOnly(n);
  const std::int32_t hosts = std::min(kRackHosts, n / kOversubscription);
  for (WorkerIndex first = 0; first < n; first += hosts) {
    const std::int32_t in_rack = std::min(hosts, n - first);
    for (const bool up : {true, false}) {
      planner::Cut cut;
      cut.name = std::string(up ? "up" : "down") + std::to_string(first / hosts);
      cut.channels = std::max(1, in_rack / kOversubscription);
      for (WorkerIndex w = 0; w < n; ++w) {
        const bool inside = w >= first && w < first + hosts;
        cut.from.push_back(inside == up);
        cut.to.push_back(inside != up);
      }
      network.cuts.push_back(std::move(cut));
    }
  }
  return network;
}

/// Sizes of the sections by producer and consumer, relative to their mean.
using Sizes = double (*)(std::int32_t n, std::int32_t producer, std::int32_t consumer);

double Equal(std::int32_t, std::int32_t, std::int32_t) { return 1; }

// Zipf's law with exponent 1/2, so that the first receiver gets some sqrt(n) / 2 times its share;
// mappers differ by up to a fifth.
double SkewedKeys(std::int32_t n, std::int32_t producer, std::int32_t consumer) {
  const double mean = 2 / std::sqrt(static_cast<double>(n));
  return (0.8 + 0.4 * planner::Unevenness(1, static_cast<std::uint64_t>(producer))) /
         std::sqrt(consumer + 1.0) / mean;
}

// Each section for itself, so that all ports have about as much to move.
double Random(std::int32_t n, std::int32_t producer, std::int32_t consumer) {
  return 0.2 +
         1.6 * planner::Unevenness(2, static_cast<std::uint64_t>(producer) * At(n) + At(consumer));
}

/// The sections of `sizes` in rotation order; mappers end in `waves` waves, the last one when a
/// port alone would have moved half of what it has.
Plan Shuffle(const NetworkModel& network, Sizes sizes, int waves) {
  const std::int32_t n = network.num_workers;
  const Seconds wave_s = kSectionS * n / 2 / std::max(1, waves - 1);
  planner::PlanAssembly assembly(network);
  std::vector<planner::MapperDraft> mappers;
  planner::LayerDraft layer;
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  // Assembly cuts by fractions; the sizes that matter are put in afterwards.
  const auto mean_bytes = static_cast<Bytes>(kSectionS / kSecondsPerByte);
  for (WorkerIndex w = 0; w < n; ++w) {
    mappers.push_back({w, mean_bytes * n, mean_bytes * n, 0, wave_s * (w % waves)});
    layer.reducers.push_back({w, 1.0 / n});
  }
  std::vector<planner::PieceDraft> pieces;
  for (std::int32_t round = 0; round < n; ++round) {
    for (std::int32_t j = 0; j < n; ++j) pieces.push_back({j, (j + round) % n});
  }
  absl::Status status = assembly.AddMappers(mappers);
  status.Update(assembly.AddReducers(layer, pieces));
  Plan plan = assembly.TakePlan();
  const auto bytes_of = [&](planner::StepIndex producer, planner::StepIndex consumer) {
    return static_cast<Bytes>(
        static_cast<double>(mean_bytes) *
        sizes(n, plan.steps[At(producer)].worker, plan.steps[At(consumer)].worker));
  };
  for (planner::Section& section : plan.sections) {
    section.bytes = bytes_of(section.producer, section.consumer);
  }
  for (planner::Transfer& transfer : plan.transfers) {
    transfer.bytes = bytes_of(transfer.producer, transfer.consumer);
  }
  for (planner::ComputeStep& step : plan.steps) {
    (step.layer == 0 ? step.output_bytes : step.input_bytes) = 0;
  }
  for (const planner::Section& section : plan.sections) {
    plan.steps[At(section.producer)].output_bytes += section.bytes;
    plan.steps[At(section.consumer)].input_bytes += section.bytes;
  }
  for (planner::ComputeStep& step : plan.steps) {
    if (step.layer == 1) step.output_bytes = step.input_bytes;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "cannot assemble: %s\n", status.ToString().c_str());
    std::exit(1);
  }
  return plan;
}

struct Ordered {
  double ratio = 0;
  double seconds = 0;
  std::size_t transfers = 0;
};

Ordered Order(const Plan& shuffle, Seconds bound_s, const auto& order) {
  Plan plan = shuffle;
  const double begin_s = CpuSeconds();
  absl::Status status = order(&plan);
  Ordered ordered{0, CpuSeconds() - begin_s, plan.transfers.size()};
  if (status.ok()) status = planner::CheckPlan(plan);
  if (!status.ok()) {
    std::fprintf(stderr, "no plan: %s\n", status.ToString().c_str());
    std::exit(1);
  }
  ordered.ratio = plan.summary.makespan_s / bound_s;
  return ordered;
}

struct Instance {
  std::string network, sections, maps;
  Plan plan;
};

/// Returns whether the order of a job keeps to its bar.
bool Measure(const Options& options, const Instance& instance) {
  const Seconds bound_s = *planner::OrderBound(instance.plan);
  const Ordered list =
      Order(instance.plan, bound_s, [](Plan* plan) { return planner::OrderByPriority(plan); });
  const Ordered slack = Order(instance.plan, bound_s, [&](Plan* plan) {
    return planner::OrderBySlack(plan, planner::SlackWorkFor(*plan, bound_s));
  });
  const std::int32_t n = instance.plan.network.num_workers;
  bool kept = true;
  for (const Bar& bar : kBars) {
    if (n < bar.workers_min || n > bar.workers_max) continue;
    kept = slack.ratio <= bar.ratio && slack.seconds <= bar.seconds;
    break;
  }
  std::printf(
      options.json
          ? "{\"workers\": %d, \"network\": \"%s\", \"sections\": \"%s\", \"maps\": \"%s\", "
            "\"transfers\": %zu, \"bound_s\": %.5g, \"list_ratio\": %.4f, "
            "\"list_seconds\": %.3g, \"job_transfers\": %zu, \"job_ratio\": %.4f, "
            "\"job_seconds\": %.3g, \"within_bars\": %s}\n"
          : "%3d workers, %-10s %-7s %-8s %6zu transfers, bound %8.5g s: list %.4f in "
            "%.3g s; of a job (%zu transfers) %.4f in %.3g s%s\n",
      n, instance.network.c_str(), instance.sections.c_str(), instance.maps.c_str(),
      instance.plan.transfers.size(), bound_s, list.ratio, list.seconds, slack.transfers,
      slack.ratio, slack.seconds,
      options.json ? (kept ? "true" : "false") : (kept ? "" : "  BEYOND ITS BAR"));
  std::fflush(stdout);
  return kept;
}

bool MeasureAll(const Options& options) {
  std::vector<std::int32_t> sizes = {16, 64, 128, 500};
  if (options.num_workers > 0) sizes = {options.num_workers};
  bool kept = true;
  for (const std::int32_t n : sizes) {
    for (const auto& [network, model] :
         {std::pair("ports only", PortsOnly(n)), std::pair("one total", OneTotal(n)),
          std::pair("racks", Racks(n))}) {
      for (const auto& [sections, by] :
           {std::pair("equal", &Equal), std::pair("skewed", &SkewedKeys),
            std::pair("random", &Random)}) {
        for (const int waves : {1, kWaves}) {
          const Instance instance{network, sections, waves == 1 ? "at once" : "in waves",
                                  Shuffle(model, by, waves)};
          kept = Measure(options, instance) && kept;
        }
      }
    }
  }
  return kept;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  namespace bench = weir::bench;
  bench::Options options;
  bench::ReadFlags(argc, argv,
                   {{.name = "--json", .given = &options.json},
                    {.name = "--check", .given = &options.check},
                    {.name = "--workers", .number = &options.num_workers, .least = 8}},
                   "order_bench [--workers N] [--json] [--check]");
  const bool kept = bench::MeasureAll(options);
  return options.check && !kept ? 1 : 0;
}
