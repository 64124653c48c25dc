#pragma once

// The short-lived process that answers for a module, so that neither client nor daemons ever load
// one. Upstream: runtime/app (AskModule), over a socketpair. Downstream: the module's code.

#include "weir/v1/module.pb.h"

namespace weir::task {

/// Reads one ModuleRequest from `fd` (runtime/base/task_frame.h), loads the module, writes one
/// ModuleAnswer and returns the exit code of the process: 0 once an answer is out, be it an error.
int AnswerForModule(int fd);

}  // namespace weir::task
