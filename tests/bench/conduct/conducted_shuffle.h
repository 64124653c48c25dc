#pragma once

// A shuffle of all workers with all, run by a conductor under virtual time whose calls are timed.
// For benches of the conductor.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/master/conduct/conductor_machine.h"

namespace weir::bench {

/// Of this thread.
double CpuSeconds();

/// Every worker maps, then sends 1 MB to every other one over links of 100 Mbit/s. `channels`: that
/// the network carries at once; 0: no limit. Ends the program where it cannot be planned.
planner::Plan Shuffle(std::int32_t num_workers, std::int32_t channels);

/// How long things really take, given what the plan says.
struct Reality {
  std::function<double(const planner::ComputeStep&)> step_seconds;
  std::function<double(const planner::Transfer&, double model_s)> transfer_seconds;
};
/// As planned first, and then with one straggler of each kind: worker 1 maps as long as the shuffle
/// of the others takes, receives or sends at a tenth of its rate.
std::vector<std::pair<const char*, Reality>> Realities(const planner::Prediction& prediction);

/// CPU seconds of many turns.
struct Turns {
  std::int64_t count = 0;
  double all_s = 0;
  double longest_s = 0;

  void Add(double seconds);
};

/// Runs one plan. Calls of the conductor are timed; what stands for workers is not.
class ConductedShuffle {
 public:
  /// Both outlive it.
  ConductedShuffle(const planner::Plan& plan, const planner::Prediction& prediction,
                   Reality reality);

  /// Runs to the end; ends the program where it gets stuck. `look` is called every half second of
  /// the run.
  void Run(const std::function<void()>& look = nullptr);
  const Turns& turns() const { return turns_; }
  master::ConductorMachine& conductor() { return conductor_; }
  double now_s() const { return static_cast<double>(now_.nanos()) * 1e-9; }
  /// By step under way: what it has read by now.
  std::vector<planner::Bytes> StepBytesDone() const;

 private:
  struct Event {
    std::int64_t at_nanos = 0;
    std::int64_t number = 0;
    planner::StepIndex step = planner::kNoIndex;
    planner::TransferIndex transfer = planner::kNoIndex;
    bool operator<(const Event& other) const {
      return std::pair(at_nanos, number) > std::pair(other.at_nanos, other.number);
    }
  };

  void Timed(const std::function<void(master::ConductorOrders&)>& call);
  void After(double seconds, planner::StepIndex step, planner::TransferIndex transfer);
  MonoTime NextMoment() const;

  const planner::Plan& plan_;
  const Reality reality_;
  std::vector<std::vector<master::RunSection>> sections_;  // by producer
  master::ConductorMachine conductor_;
  MonoTime now_;
  std::priority_queue<Event> events_;
  std::int64_t number_ = 0;
  std::vector<std::pair<double, double>> step_runs_;  // by step: from, seconds
  Turns turns_;
  bool finished_ = false;
};

}  // namespace weir::bench
