#pragma once

// Cuts events of users into sessions. Upstream: CSV rows "user,time[,page]". Downstream: parts with
// CSV rows "user,start,end,events,entry,exit".

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::sessions {

/// Makes the job `sessions`. Checked by: tests/unit/jobs/sessions_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::sessions
