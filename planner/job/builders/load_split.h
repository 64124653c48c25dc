#pragma once

// Who gets which part of a job: the shares of each layer's load, and the workers of its steps.
// Upstream: LoadPlan. Downstream: planner/load, split_assembly.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/job/job_shape.h"
#include "planner/job/rack_loads.h"
#include "planner/load/chain.h"
#include "planner/plan/units.h"

namespace weir::planner {

/// Shares of the load by layer, [0] for mappers, and the worker of each step.
struct LoadSplit {
  std::vector<std::vector<double>> shares;
  std::vector<std::vector<WorkerIndex>> workers;
};

/// What solving a number of chains may take: a part of the time for each that is left, in steps of
/// the solver, which are counted by the size of what is solved. Each chain is solved layer by layer
/// however long that takes; only what bends its fractions is bounded.
class SolvingBudget {
 public:
  SolvingBudget(Seconds time_s, std::size_t num_chains);

  /// What the next chain may take.
  double ForNext() const { return work_left_ / static_cast<double>(std::max(chains_left_, 1)); }
  /// It took that much.
  void Spend(double work) {
    work_left_ = std::max(0.0, work_left_ - work);
    --chains_left_;
  }

 private:
  double work_left_;
  int chains_left_;
};

/// Returns the loads of a chain as the whole-chain method sets them, without workers, within its
/// part of `budget`. Errors: those of SolveChain, for numbers outside the model.
absl::StatusOr<LoadSplit> SolveSplit(const load::Chain& chain, SolvingBudget& budget);

/// Where the reducers of layers with fewer steps than workers go. Mappers go to the fastest
/// workers.
enum class Placement {
  kApart,     // from the slowest on, so that few of both share none
  kTogether,  // to the mappers' workers, so that data stays in place
};

/// Sets the worker of each step.
void PlaceSteps(const ClusterProfile& cluster, Placement placement, LoadSplit& split);

/// Makes each share proportional to this power of its worker's rate as well: 1 where computing
/// limits, less where the ports, which are alike, limit as well. Of reduce steps whose time grows
/// faster than their bytes, the power is as much smaller.
LoadSplit WeightedByRate(LoadSplit split, const JobShape& shape, const ClusterProfile& cluster,
                         double power);

/// Gives each rack these parts of the mappers' and of the first reducers' load (later layers as the
/// first), divided in it as before; steps without load are left out. Nothing where a rack that is
/// to have a part has no step, or where steps that the shape asks for would be left out.
std::optional<LoadSplit> DividedByRacks(LoadSplit split, const JobShape& shape,
                                        const std::vector<Rack>& level, const RackShares& parts);

/// Makes the mappers' shares those of chunks that the input has. A mapper whose chunk is empty is
/// left out, unless their number was asked for; the largest chunk then goes to the first worker.
LoadSplit FittedToInput(LoadSplit split, const JobShape& shape);

/// Returns the largest number of pairs in a layer.
double PairsMax(const LoadSplit& split);

/// Returns the number of pairs in all layers.
double PairsOf(const LoadSplit& split);

}  // namespace weir::planner
