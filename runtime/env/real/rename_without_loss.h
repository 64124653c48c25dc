#pragma once

// Renames that lose nothing, on file systems that know no flags for it too: NFS, CephFS, 9p, most
// of FUSE. Upstream: PosixStorage. Downstream: the kernel.

#include <string>

#include "absl/status/status.h"

namespace weir::env {

/// True for the answers by which a file system says that it does not know a call or its flags.
bool IsUnknownToFileSystem(int error_number);

/// Renames, and replaces nothing but an empty directory by a directory. Errors: kAlreadyExists.
/// Checked by: tests/unit/env/posix_storage_test.cc, tests/integration/file_systems_test.py.
absl::Status RenameWithoutLoss(const std::string& from, const std::string& to);

/// The same without RENAME_NOREPLACE: what RenameWithoutLoss falls back to.
///
/// Failure semantics: a file goes by a hard link and has both names when the process dies between
///   the two calls. Where there are no hard links either, a file that somebody else makes as `to`
///   between the look and the rename is replaced.
absl::Status RenameWithoutFlags(const std::string& from, const std::string& to);

/// Gives `a` the name of `b` and `b` that of `a`, in one step. Errors: kUnimplemented where that is
/// not known.
absl::Status ExchangeNames(const std::string& a, const std::string& b);

}  // namespace weir::env
