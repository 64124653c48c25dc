#pragma once

// What has to be done again when workers are gone, and what has arrived; which steps come before
// which by what they read. Upstream: EditPlan.
// Downstream: step_homes, edited_plan.

#include <compare>
#include <cstdint>
#include <vector>

#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Place of a step in the order of its data: greater than that of every step that it reads.
struct DataRank {
  std::int32_t layer = 0;
  /// Most steps of its own layer that follow each other down to it: 0 but where a layer combines.
  std::int32_t depth = 0;
  friend auto operator<=>(const DataRank&, const DataRank&) = default;
};

/// Returns the rank of each step.
/// Requires: sections go to the same layer as their producer's or to a later one, and form no
///   cycle. Thread-safety: pure. O(steps + sections).
std::vector<DataRank> DataRanks(const Plan& plan);

/// Whether some layer of the plan is combined before it is reduced.
bool CombinesAnything(const Plan& plan);

/// Transfers of each section: by section of the plan, rising. One that moves bytes of no section is
/// left out. O((sections + transfers) log).
std::vector<std::vector<TransferIndex>> TransfersBySection(const Plan& plan);

/// What is left of a plan, before it is said who does it. Plain data.
struct WorkLeft {
  std::vector<bool> alive;  // by worker
  /// By step: it has to run, or to run again, on a worker to be chosen, and needs all it reads.
  std::vector<bool> homeless;
  /// By step: had begun or was done, and waits again. One that had begun on a worker that is alive
  /// was given up there.
  std::vector<bool> redone;
  /// By section: arrived whole at its consumer, which is to run there or has begun.
  std::vector<bool> arrived;
  /// By step: homeless and reads input, and nobody has any section of it: any cut of its input will
  /// do.
  std::vector<bool> can_be_cut;
  /// By step: done, and stays so for those who have its sections; for the others, parts of its
  /// input are read by steps of their own.
  std::vector<bool> in_parts;
  std::vector<std::vector<TransferIndex>> transfers_of;  // by section
};

/// What becomes of a step that reads input, is to be made again, and of which somebody has a
/// section.
enum class PartlyRead {
  kMadeAgain,  // whole, on one worker
  kInParts,    // WorkLeft::in_parts
};

/// Finds what is left.
///
/// Model: a step that is not done and whose worker is gone is homeless. Readers
///   before what they read, each step that still has to begin lacks a section that did not arrive
///   whole with it, and every section if it is homeless; a done step of which somebody lacks a
///   section, and whose run is not there any more, is done again and homeless too.
/// `moved`, by step, names steps that are homeless too; one of them that is under way is given up,
/// one that is done is made again whole, and nobody keeps what it has of it.
/// Requires: CheckState is OK; CheckEditable of the plan too.
/// Thread-safety: pure. O(steps + sections + transfers, log).
WorkLeft FindWorkLeft(const Plan& plan, const PlanState& state, const std::vector<bool>& alive,
                      PartlyRead partly_read, const std::vector<bool>& moved = {});

/// Whether the step has yet to begin after the edit: then it needs what it reads.
bool HasToBegin(const PlanState& state, const WorkLeft& left, StepIndex step);

}  // namespace weir::planner
