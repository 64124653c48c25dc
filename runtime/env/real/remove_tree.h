#pragma once

// Trees that go, whatever user code has made of them. Upstream: PosixStorage, the sweeper of
// embedded runs. Downstream: the kernel.

#include <string>

#include "absl/status/status.h"

namespace weir::env {

/// Removes a tree; not existing is success. Goes by descriptors and never follows a link, so that
/// nobody can lead it out of the tree.
///
/// Directories of this user's that are closed to it are opened for that: user code may have taken
/// the right to write from its own, and a job's directory would never go.
/// Errors: as env::Storage. Blocking. Thread-safety: any thread.
/// Failure semantics: what is left is closed no more.
/// Checked by: tests/unit/env/remove_tree_test.cc.
absl::Status RemoveTree(const std::string& path);

}  // namespace weir::env
