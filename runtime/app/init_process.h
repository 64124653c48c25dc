#pragma once

// The first process of a container that has no init. Upstream: program.cc. Downstream: the kernel.

#include "runtime/worker/supervise/process_title.h"

namespace weir::app {

/// Goes on in a child where this process is the first of its PID namespace: the first one stays in
/// front, hands SIGTERM, SIGINT and SIGHUP on, collects whatever ends and ends with the status of
/// the child, or with 128 and its signal. Elsewhere it does nothing.
///
/// The kernel makes the first process the parent of all whose own has ended: of the guardian of
/// each task, and of what user code leaves behind. A daemon awaits what it has started itself, and
/// the others would stay as zombies until no process can be made any more.
/// Requires: called before any thread. `title` is that of this process.
/// Failure semantics: where no process can be made, the first one goes on itself.
/// Checked by: tests/integration/drain_test.py (-k first_process).
void GoBehindInit(const worker::ProcessTitle& title);

}  // namespace weir::app
