#pragma once

// How a job may end when something is done to its cluster: the one place that says so. Upstream:
// checkers, scenarios. Downstream: what the user sees of a job.

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/scenario.h"

namespace weir::sim {

/// Errors by which a job may end that lost workers: it is planned again as long as one is left, and
/// CheckRun finds those that ended although one was.
const std::vector<std::string>& CodesOfLosses();

/// The same where workers that keep their leases may not hear each other, or not the master: they
/// are asked again for limits::kPeerPatience. Then a job goes on without whom the master does not
/// reach, if others are left; where workers do not reach each other no other plan is made.
const std::vector<std::string>& CodesOfSilence();

/// Says why a job may not have ended as it did; nothing when it may.
std::optional<std::string> WhyWrongEnd(const UserJob& job, const Expectations& expected);

}  // namespace weir::sim
