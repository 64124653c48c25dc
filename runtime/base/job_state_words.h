#pragma once

// What people are told that a job is. Pure. Upstream: messages of the master, commands of the
// client.

#include "weir/v1/job.pb.h"

namespace weir {

/// Returns "queued", "planning", "running", "publishing", "cleaning up", "done", "failed" or
/// "cancelled"; "waiting" for a state that another version has. What runs of a job that is running
/// is for who has its progress (client::PhaseName).
/// Checked by: tests/unit/base/job_state_words_test.cc.
const char* JobStateInWords(v1::JobState state);

}  // namespace weir
