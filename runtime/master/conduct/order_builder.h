#pragma once

// From the conductor's decisions to messages for workers. Pure.
// Upstream: ConductorRun. Downstream: rpc::WorkerApi.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "planner/plan/plan.h"
#include "runtime/base/limits.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "runtime/master/input/input_ranges.h"
#include "runtime/master/output/staged_output.h"
#include "runtime/master/workers/worker_table.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/steps.pb.h"

namespace weir::master {

/// What is left of a message, and of a frame to a task, beside what is around the order of a step:
/// a worker adds the paths of what ten thousand others have made for it.
inline constexpr std::size_t kOrderBytesMax = 60 << 20;
static_assert(kOrderBytesMax < limits::kMessageBytesMax);
static_assert(kOrderBytesMax < limits::kTaskFrameBytesMax);

/// How transfers are granted.
struct GrantOptions {
  std::uint64_t job_token = 0;
  /// For plans whose network says nothing of pacing; 0 = unpaced.
  double pacing_fraction = 0;
  /// See MasterOptions. At most half of a transfer, so that never a whole one is granted ahead.
  std::int64_t look_ahead_bytes = 0;
};

/// What workers said of the runs that they published. One for all plans of a run: those that read a
/// run may be ordered to by a later plan than those that made it.
class PublishedRuns {
 public:
  struct Run {
    std::string run_id;
    std::string path;
  };
  void Add(const RunName& name, const v1::RunInfo& run) {
    runs_[name] = {run.run_id(), run.path()};
  }
  /// Without an id where it was not published.
  const Run& Of(const RunName& name) const {
    static const Run none;
    const auto it = runs_.find(name);
    return it == runs_.end() ? none : it->second;
  }
  /// None: it was not published.
  std::optional<RunName> NameOf(const std::string& run_id) const {
    for (const auto& [name, run] : runs_) {
      if (run.run_id == run_id) return name;
    }
    return std::nullopt;
  }

 private:
  absl::btree_map<RunName, Run> runs_;
};

/// Builds step orders and transfer grants of one plan.
/// Requires: `plan`, `input`, `workers`, `runs` outlive it; workers by WorkerIndex of the plan.
/// Thread-safety: none. Checked by: tests/unit/master/order_builder_test.cc.
class OrderBuilder {
 public:
  OrderBuilder(const planner::Plan& plan, const InputRanges& input,
               const std::vector<RegisteredWorker>& workers, OutputPlaces places,
               std::int64_t plan_epoch, GrantOptions options, const PublishedRuns& runs);

  v1::StepOrder BuildStep(const StepStart& start) const;
  /// INVALID_JOB for one that is longer than kOrderBytesMax, as of a step that reads half a million
  /// files: its worker would refuse it, whichever that is. Nothing for others.
  static std::optional<v1::JobError> TooLong(const v1::StepOrder& order);
  /// `grant_delay_s`: what the receiver's next report and the grant after it will be on their way.
  v1::TransferGrant BuildGrant(const TransferStart& start, double grant_delay_s) const;

  /// What a sender is told of a rate, in whole bytes per second: never more, and 1 at least.
  static std::int64_t WholeRate(double bytes_per_s);

  /// True for steps whose output no step reads: they make an output part.
  bool WritesPart(planner::StepIndex step) const { return sections_of_[planner::At(step)].empty(); }
  /// "map 3", "reduce 0"; from the second layer on "layer 2 reduce 0".
  std::string StepName(planner::StepIndex step) const;
  /// "transfer of map 3 to reduce 0".
  std::string TransferName(planner::TransferIndex transfer) const;

 private:
  void SetOutput(const StepStart& start, v1::StepOrder& order) const;
  void AddConsumer(const planner::Section& section, v1::StepOrder& order) const;
  // Adds those who lack nothing of it, as nobody: keys are divided as in the other steps of the
  // layer, to the bit, or of a key that two steps gave to different readers one would have it
  // twice.
  void AddNobodys(v1::StepOrder& order) const;

  const planner::Plan& plan_;
  const InputRanges& input_;
  const std::vector<RegisteredWorker>& workers_;
  const OutputPlaces places_;
  const std::int64_t plan_epoch_;
  const GrantOptions options_;
  const PublishedRuns& runs_;
  std::vector<std::vector<std::int32_t>> sections_of_;  // by producer: Plan::sections, by range
  std::vector<planner::StepIndex> input_readers_;       // of any step that reads input, by range
};

}  // namespace weir::master
