#pragma once

// The kinds of compute steps: one row each, which says all that planner, conductor and pictures
// have to know of a kind. What a worker does in a step stands in runtime/task/step_kinds.h.
// Upstream: builders. Downstream: CheckPlan, Predict, the conductor, Explain, planner/wire.

#include <cstdint>
#include <optional>

namespace weir::planner {

/// How the steps of one kind and layer share the load of the layer; CheckPlan holds them to it.
enum class LoadSharing {
  kInputRanges,  // their input ranges tile the job's input; they read no runs
  kKeyRanges,    // their key ranges tile the unit interval; each reads a section of every run
  kFree,         // as the builder likes; each section says who reads it
};

/// One row of the table. Plain data.
struct StepKindTraits {
  const char* name = "";
  /// In messages (v1.StepKind), and the order of kinds within a layer. Never used again for
  /// another kind.
  std::int32_t number = 0;
  LoadSharing sharing = LoadSharing::kFree;
  /// Steps of the kind form an order of their own on each worker: they wait for each other, and for
  /// the worker's other steps only where one is running.
  bool own_order = false;
  /// Stores what other steps made: runs no user code, and holds one channel of the store while it
  /// runs, where the store is limited.
  bool stores = false;
  /// Folds partial results of a layer into one: its sections are operands, read in the order of
  /// Plan::sections. Others read theirs by rising producers.
  bool combines = false;
  /// Belongs to one iteration of a loop, whose number is its layer (check_loops.h).
  bool iterates = false;
  /// Makes the loop's next state of the one before, and may say that it is the last: then nothing
  /// of later iterations is needed. Of several runs of the kind a reader outside of the loop reads
  /// the latest only.
  bool updates_state = false;
  /// Workers can carry it out.
  bool runs_on_workers = true;
  /// Class of its bars in the Gantt picture, and whether text on a solid bar must be light.
  char gantt_style = 'h';
  bool gantt_dark = true;

  constexpr bool reads_input() const { return sharing == LoadSharing::kInputRanges; }
  constexpr bool splits_keys() const { return sharing == LoadSharing::kKeyRanges; }
  /// Its steps are one layer's share of the load, and its runs feed the next layer.
  constexpr bool carries_layer() const { return sharing != LoadSharing::kFree; }
  /// Layer whose pairs a step of `layer` makes: what only combines makes those that it reads.
  constexpr std::int32_t layer_made(std::int32_t layer) const {
    return combines ? layer - 1 : layer;
  }
};

/// What a compute step does with its local inputs: a row of the table, compared by identity.
///
/// Code asks the row (`step.kind->stores`) and never lists kinds, so that a new kind is a new row
/// and what carries it out. Checked by: tests/unit/step_kind/throwaway_step_kind_test.cc.
class StepKind {
 public:
  static const StepKind kMap;      // input range -> one run with a section per consumer
  static const StepKind kReduce;   // sections of the layer before -> one run, or an output part
                                   // when no step reads it
  static const StepKind kCombine;  // partial results on one worker -> one (reduction trees)
  static const StepKind kWrite;    // sections of output text -> an output part, no user code
  static const StepKind kIterate;  // state of a loop and what its worker's map step kept -> one run
  static const StepKind kUpdate;   // combined result and state of a loop -> its next state

  /// `traits` outlives every use of the kind.
  constexpr explicit StepKind(const StepKindTraits& traits) : traits_(&traits) {}
  constexpr const StepKindTraits* operator->() const { return traits_; }

  friend constexpr bool operator==(StepKind a, StepKind b) { return a.traits_ == b.traits_; }
  friend constexpr bool operator<(StepKind a, StepKind b) { return a->number < b->number; }

 private:
  const StepKindTraits* traits_;
};

namespace step_kind_internal {

inline constexpr StepKindTraits kMap{
    .name = "map", .number = 1, .sharing = LoadSharing::kInputRanges, .gantt_style = 'm'};
inline constexpr StepKindTraits kReduce{
    .name = "reduce", .number = 2, .sharing = LoadSharing::kKeyRanges, .gantt_style = 'r'};
inline constexpr StepKindTraits kCombine{
    .name = "combine", .number = 3, .own_order = true, .combines = true, .gantt_style = 'c'};
inline constexpr StepKindTraits kWrite{
    .name = "write", .number = 4, .stores = true, .gantt_style = 'w', .gantt_dark = false};
inline constexpr StepKindTraits kIterate{
    .name = "iterate", .number = 5, .iterates = true, .gantt_style = 'm'};
inline constexpr StepKindTraits kUpdate{
    .name = "update", .number = 6, .iterates = true, .updates_state = true, .gantt_style = 'r'};

}  // namespace step_kind_internal

inline constexpr StepKind StepKind::kMap{step_kind_internal::kMap};
inline constexpr StepKind StepKind::kReduce{step_kind_internal::kReduce};
inline constexpr StepKind StepKind::kCombine{step_kind_internal::kCombine};
inline constexpr StepKind StepKind::kWrite{step_kind_internal::kWrite};
inline constexpr StepKind StepKind::kIterate{step_kind_internal::kIterate};
inline constexpr StepKind StepKind::kUpdate{step_kind_internal::kUpdate};

/// All kinds, by rising number.
inline constexpr StepKind kStepKinds[] = {StepKind::kMap,   StepKind::kReduce,  StepKind::kCombine,
                                          StepKind::kWrite, StepKind::kIterate, StepKind::kUpdate};

/// The kind with this number; nothing where this version knows none.
constexpr std::optional<StepKind> StepKindOf(std::int32_t number) {
  for (const StepKind kind : kStepKinds) {
    if (kind->number == number) return kind;
  }
  return std::nullopt;
}

}  // namespace weir::planner
