#include "tests/sim/checkers.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/sim/edit_checks.h"
#include "tests/sim/ending_checks.h"
#include "tests/sim/findings.h"
#include "tests/sim/journal_checks.h"
#include "tests/sim/limit_checks.h"
#include "tests/sim/maps_redone.h"
#include "tests/sim/result_checks.h"

namespace weir::sim {
namespace {

bool IsFar(const v1::JobStatus& status) {
  const double predicted_s = status.predicted_makespan_s();
  const double bound_s = kPredictionShare * predicted_s + kPredictionSeconds;
  return std::abs(status.actual_makespan_s() - predicted_s) > bound_s;
}

void CheckPredictions(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    const double predicted_s = job.status.predicted_makespan_s();
    const double actual_s = job.status.actual_makespan_s();
    const bool near = actual_s < kFarPredictionFactor * predicted_s &&
                      predicted_s < kFarPredictionFactor * actual_s;
    if (IsFar(job.status) && !near) {
      findings.push_back(
          absl::StrCat(job.id, " took ", actual_s, " s, predicted were ", predicted_s, " s"));
    }
  }
}

}  // namespace

std::vector<std::string> CheckRun(const Scenario& scenario) {
  World& world = *scenario.world;
  Findings findings = world.wrong();
  CheckLimits(world, findings);
  CheckJournal(world, findings);
  CheckOutput(world, scenario.expectations, findings);
  if (scenario.expectations.planned_once) CheckPlannedOnce(world, findings);
  CheckEndings(world, scenario.expectations, findings);
  if (scenario.expectations.as_predicted) CheckPredictions(world, findings);
  const MapsRedone maps = CountMapsRedone(world);
  if (scenario.expectations.maps_are_kept && maps.redone > kMapsRedoneShare * maps.done) {
    findings.push_back(absl::StrCat(maps.redone, " of ", maps.done,
                                    " maps were done again after a restart of the master"));
  }
  return findings;
}

Predictions CountPredictions(const Scenario& scenario) {
  Predictions counted;
  if (!scenario.expectations.as_predicted) return counted;
  for (const UserJob& job : scenario.world->jobs()) {
    ++counted.jobs;
    counted.far += IsFar(job.status) ? 1 : 0;
  }
  return counted;
}

}  // namespace weir::sim
