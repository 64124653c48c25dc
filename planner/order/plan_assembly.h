#pragma once

// Turns what a builder decides (who runs, chunk sizes, load fractions, pieces) into the steps,
// sections and transfers of a Plan, in whole bytes. Upstream: builders in planner/job and
// planner/load. Downstream: transfer_orders, which adds orders and times.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// One mapper. Mappers read the input in the order they are added.
struct MapperDraft {
  WorkerIndex worker = 0;
  Bytes input_bytes = 0;
  Bytes output_bytes = 0;
  Seconds release_s = 0;
  Seconds duration_s = 0;
};

/// One reducer of a layer.
struct ReducerDraft {
  WorkerIndex worker = 0;
  /// delta of 004: share of the bytes, >= 0; those of a layer add up to 1.
  double load_fraction = 0;
  /// Upper end of its keys; negative: where the fractions so far end, all keys being alike.
  double key_end = -1;
};

/// One layer of reducers.
struct LayerDraft {
  std::vector<ReducerDraft> reducers;
  /// Bytes out per byte in, >= 0.
  double output_ratio = 1;
  /// Run time of a reducer with this input on this worker, start-up included; seconds, >= 0.
  std::function<Seconds(WorkerIndex worker, Bytes input_bytes)> reduce_seconds;
};

/// One transfer that a builder wants: a piece of the section from one step of a layer to one of the
/// next.
struct PieceDraft {
  /// Positions (index_in_layer) of the producer in the layer before and of the consumer in this
  /// layer.
  std::int32_t producer_index = 0;
  std::int32_t consumer_index = 0;
  /// Size relative to the other pieces of the same section; > 0. Pieces follow each other in the
  /// section as added.
  double share = 1;
  /// Wanted start, for OrderByStart. Seconds.
  Seconds start_s = 0;
};

/// How the last reducers' output is stored by write steps.
struct StoreDraft {
  /// One worker: a single write step joins all outputs in their order. One a reducer: each output
  /// is written by its own step.
  std::vector<WorkerIndex> writers;
  /// Run time of a write step with this many bytes; seconds, >= 0.
  std::function<Seconds(Bytes bytes)> write_seconds;
  /// Wanted start of the first transfer to a writer, for OrderByStart: after all others. Seconds.
  Seconds begin_s = 0;
};

/// Collects layers, from mappers to the last reducers, and how their output is stored.
///
/// Sections are cut at the borders of the load fractions; every step of a layer has one for every
/// reducer of the next. A section between steps of one worker is handed over in place: its pieces
/// are dropped. A section between two workers that no piece names gets one transfer after all
/// pieces of its layer, so no data is ever left behind. Pieces that round to 0 bytes are dropped
/// while their section has another.
///
/// Example (even chunks on two workers, rotation order):
///   PlanAssembly assembly(network);
///   absl::Status status = assembly.AddMappers({{0, 50, 25, 0, 1.0}, {1, 50, 25, 0, 1.0}});
///   const LayerDraft layer{{{0, 0.5}, {1, 0.5}}, 0.1, reduce_seconds};
///   status.Update(assembly.AddReducers(layer, {{0, 1}, {1, 0}}));
///   Plan plan = assembly.TakePlan();
///   status.Update(OrderByPriority(&plan));
/// Errors of the Add calls: kInvalidArgument when a worker, a position, a size or a share is out of
///   range, or a layer is empty; the assembly must then be thrown away.
/// Checked by: tests/unit/planner_plan/plan_assembly_test.cc.
class PlanAssembly {
 public:
  explicit PlanAssembly(NetworkModel network);

  /// Goes on from a plan whose steps [last_layer_begin, end) are its last layer, the num_layers-th.
  /// Requires: these are mappers or reducers in the order of index_in_layer; compute_order has a
  ///   list a worker.
  PlanAssembly(Plan plan, StepIndex last_layer_begin, std::int32_t num_layers);

  /// Adds layer 0. Called once, first.
  absl::Status AddMappers(absl::Span<const MapperDraft> mappers);

  /// Adds the next layer and the transfers into it. Transfers get indices in the order of `pieces`,
  /// which is their priority in OrderByPriority.
  absl::Status AddReducers(const LayerDraft& layer, absl::Span<const PieceDraft> pieces);

  /// Adds the write steps as a layer of their own, and the transfers to them, those of reducers
  /// that take least time first. Without it the last reducers write their parts themselves.
  /// Requires: AddReducers was called. OrderStore limits how many write at once.
  absl::Status AddStore(const StoreDraft& store);

  /// Returns the plan so far: steps, sections, transfers and compute_order (layer by layer on each
  /// worker). It has no transfer orders and no times yet; OrderByPriority, OrderByStart or
  /// OrderFetchAll adds them.
  Plan TakePlan();

 private:
  StepIndex AddStep(ComputeStep step);
  absl::Status AddSteps(const LayerDraft& layer, const std::vector<std::vector<Bytes>>& sections);
  absl::Status AddTransfers(const std::vector<std::vector<Bytes>>& sections,
                            absl::Span<const PieceDraft> pieces);
  void AddTransfer(const Section& section, Bytes offset, Bytes bytes, Seconds start_s);
  const ComputeStep& StepAt(StepIndex step) const;

  Plan plan_;
  std::int32_t num_layers_ = 0;
  StepIndex producers_begin_ = 0;  // first step of the layer before the last one added
  StepIndex consumers_begin_ = 0;  // first step of the last layer added
};

}  // namespace weir::planner
