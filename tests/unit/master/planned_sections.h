#pragma once

// The runs of a plan whose steps make what was planned. For tests of the conductor.

#include <vector>

#include "planner/plan/plan.h"
#include "runtime/master/conduct/plan_progress.h"

namespace weir::master {

/// The run of this step: its sections one after the other, as in the plan.
inline std::vector<RunSection> PlannedSections(const planner::Plan& plan,
                                               planner::StepIndex producer) {
  std::vector<RunSection> sections;
  planner::Bytes offset = 0;
  for (const planner::Section& section : plan.sections) {
    if (section.producer != producer) continue;
    sections.push_back({section.consumer, offset, section.bytes, section.bytes});
    offset += section.bytes;
  }
  return sections;
}

}  // namespace weir::master
