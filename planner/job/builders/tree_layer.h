#pragma once

// One reduce layer by reduction trees: combine steps from the steps before it to one root a
// reducer. Upstream: tree_plan. Downstream: planner/tree, Plan.

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner {

/// What feeds the trees of one layer: its makers, joined where a worker has several.
struct TreeElements {
  /// Position in JobShape::layers.
  std::size_t layer = 0;
  /// Maker steps (mappers, or reducers of the layer before) of each machine, and its worker.
  /// Machines stand in the order of their first makers.
  std::vector<std::vector<StepIndex>> makers;
  std::vector<WorkerIndex> workers;
  /// What each maker brings to a union, in the unit of ElementBytes (bytes of input, or of output).
  std::vector<double> part_of_step;  // by StepIndex
  /// When each machine has its element, as far as it was planned.
  std::vector<Seconds> ready_s;
};

/// Returns the elements that the steps [first, end of plan.steps) of the layer before make. Errors:
/// kFailedPrecondition when operands must keep their order and a worker's steps are no neighbours.
absl::StatusOr<TreeElements> ElementsOf(const JobShape& shape, const Plan& plan, std::size_t layer,
                                        StepIndex first);

/// Returns what a message of a tree moves, about: the mean of an element and of the union of all.
double TypicalPartialBytes(const JobShape& shape, const Plan& plan, const TreeElements& elements);

/// Returns the places at the begin of each segment of [places.begin, places.end), and at the end of
/// the last.
///
/// Model: segments of a table have bytes in proportion to `segment_units` where the layer's key
///   weights are known (CutKeyRange), so that their transfers take as long as the schedule says;
///   all others have places in proportion. Every segment has a place where there are as many.
/// Requires: segment_units >= 0, not all 0.
/// Checked by: tests/unit/planner_job/tree_plan_test.cc, tree_plan_property_test.cc.
std::vector<std::int64_t> SegmentBorders(const LayerShape& layer, const IndexRange& places,
                                         const std::vector<double>& segment_units);

/// Adds the combine steps of one tree a reducer, their sections and transfers, then the reduce
/// steps, which stand last.
///
/// Model: `schedule` reduces what one root gets; roots of a commutative operation are on
///   the machines from schedule.root on, in blocks where there are more of them. Reducer k has the
///   keys of its root; keys are cut at whole places by the layer's key weights, and so are the
///   segments of each tree (SegmentBorders). A section has the
///   bytes that its places have of the union of its operands (ElementBytes). A combine step takes
///   the layer's step overhead and combine_seconds_per_byte of what arrives; a reduce step as
///   DraftReducers says, of the combined bytes, and makes output_ratio of what was made before it
///   was combined.
/// Wanted starts are those of the schedule; OrderByStart orders the plan.
/// Requires: plan->compute_order is empty; the schedule has one machine an element.
/// Errors: kInvalidArgument where a vector has fewer places than reducers; those of
/// AppendReduction.
absl::Status AppendTreeLayer(const JobShape& shape, const ClusterProfile& cluster,
                             const TreeElements& elements, const tree::Schedule& schedule,
                             std::int32_t num_reducers, Plan* plan);

/// Returns the most segments of an element whose transfers are worth a grant. `message_bytes`: what
/// a message moves of an element of one reducer.
std::int64_t SegmentsWorthAGrant(const JobShape& shape, const ClusterProfile& cluster,
                                 const ElementShape& element, std::size_t machines,
                                 double message_bytes);

/// Schedules for the layers of one job, each made once: the plans that are tried for a job have
/// most of their questions in common, and schedules cost far more than what is made of them.
/// Requires: shape and cluster outlive it. Thread-safety: none.
/// Checked by: tests/unit/planner_job/tree_plan_property_test.cc.
class TreeSchedules {
 public:
  TreeSchedules(const JobShape& shape, const ClusterProfile& cluster)
      : shape_(shape), cluster_(cluster) {}

  /// Returns every schedule for what one of `num_reducers` roots of the layer gets, of at most
  /// `segments_max` segments where the family leaves that open. `by_racks`: those chosen and timed
  /// under the network's cuts, none where no cut divides the workers; else those that know no cuts
  /// but a limit for all. Valid as long as this.
  const std::vector<tree::Schedule>& Of(const TreeElements& elements, double message_bytes,
                                        std::int32_t num_reducers, std::int64_t segments_max,
                                        bool by_racks);

 private:
  // Layer, workers, when they have their elements, bytes, reducers, segments, by racks.
  using Question = std::tuple<std::size_t, std::vector<WorkerIndex>, std::vector<Seconds>, double,
                              std::int32_t, std::int64_t, bool>;

  const JobShape& shape_;
  const ClusterProfile& cluster_;
  std::map<Question, std::vector<tree::Schedule>> known_;
};

}  // namespace weir::planner
