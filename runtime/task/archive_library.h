#pragma once

// libarchive, for processes that unpack something. Upstream: UnpackArchive.

#include <archive.h>
#include <archive_entry.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::task {

/// Its functions, by their names. The library brings seven others with it (libxml2 and ICU's tables
/// among them), and a start with them takes a ninth more instructions: so it is loaded where the
/// first archive is unpacked, and stays.
///
/// Thread-safety: immutable. Checked by: tests/unit/task/unpack_archive_test.cc.
struct ArchiveLibrary {
  decltype(&::archive_entry_filetype) entry_filetype = nullptr;
  decltype(&::archive_entry_hardlink) entry_hardlink = nullptr;
  decltype(&::archive_entry_mtime) entry_mtime = nullptr;
  decltype(&::archive_entry_mtime_is_set) entry_mtime_is_set = nullptr;
  decltype(&::archive_entry_pathname) entry_pathname = nullptr;
  decltype(&::archive_entry_perm) entry_perm = nullptr;
  decltype(&::archive_entry_size) entry_size = nullptr;
  decltype(&::archive_entry_size_is_set) entry_size_is_set = nullptr;
  decltype(&::archive_entry_symlink) entry_symlink = nullptr;
  decltype(&::archive_error_string) error_string = nullptr;
  decltype(&::archive_read_data_block) read_data_block = nullptr;
  decltype(&::archive_read_free) read_free = nullptr;
  decltype(&::archive_read_new) read_new = nullptr;
  decltype(&::archive_read_next_header) read_next_header = nullptr;
  decltype(&::archive_read_open_filename) read_open_filename = nullptr;
  decltype(&::archive_read_support_filter_bzip2) support_bzip2 = nullptr;
  decltype(&::archive_read_support_filter_gzip) support_gzip = nullptr;
  decltype(&::archive_read_support_filter_xz) support_xz = nullptr;
  decltype(&::archive_read_support_filter_zstd) support_zstd = nullptr;
  decltype(&::archive_read_support_format_tar) support_tar = nullptr;
  decltype(&::archive_read_support_format_zip) support_zip = nullptr;
};

/// The library under its usual name, loaded at most once.
/// Errors: as LoadArchiveLibrary. Thread-safety: any thread. Blocking.
absl::StatusOr<const ArchiveLibrary*> TheArchiveLibrary();

/// Loads a library. Errors: ARCHIVE_REFUSED, naming the library and the package that has it.
absl::StatusOr<ArchiveLibrary> LoadArchiveLibrary(const std::string& name);

}  // namespace weir::task
