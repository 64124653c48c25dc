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
/// Bounds: 66 descriptors, however deep the tree is.
/// Errors: as env::Storage; a long path is cut in the middle. Blocking. Thread-safety: any thread.
/// Failure semantics: what is left is closed no more, and what was deep in it may lie in `path`
///   itself.
/// Checked by: tests/unit/env/remove_tree_test.cc.
absl::Status RemoveTree(const std::string& path);

}  // namespace weir::env
