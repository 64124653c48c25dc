#pragma once

namespace weir::app {

/// Starts a small process that ends the whole process group when the daemon or the task is gone,
/// and the task wherever it is.
///
/// A task notices by its socket that its daemon died, but not while it is stopped or stuck; and
/// what user code has started notices nothing at all. The guardian waits for both processes and
/// does nothing else. No signal to its group ends it, but SIGKILL, and user code that waits for all
/// of its children does not wait for it. Requires: called first in the task process, before any
/// thread, by the leader of its process group. Failure semantics: where the kernel has no pidfd the
/// task goes on without a guardian. Checked by: tests/integration/modules_test.py (class Guardian).
void StartTaskGuardian();

}  // namespace weir::app
