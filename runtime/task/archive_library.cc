#include "runtime/task/archive_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::task {
namespace {

// The number is that of the interface that its header declares.
constexpr char kLibrary[] = "libarchive.so.13";

absl::Status NotThere(const std::string& name) {
  const char* const error = ::dlerror();
  return StatusFromJobError(
      absl::StatusCode::kFailedPrecondition,
      MakeJobError(job_error::kArchiveRefused,
                   absl::StrCat("archives cannot be unpacked here, without ", name, ": ",
                                error == nullptr ? "it cannot be loaded" : error),
                   "install libarchive (Debian: libarchive13) on all workers"));
}

}  // namespace

absl::StatusOr<ArchiveLibrary> LoadArchiveLibrary(const std::string& name) {
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotThere(name);
  ArchiveLibrary functions;
  bool has_all = true;
  const auto find = [&]<typename Function>(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(library, symbol));
    has_all = has_all && function != nullptr;
  };
  find(functions.entry_filetype, "archive_entry_filetype");
  find(functions.entry_hardlink, "archive_entry_hardlink");
  find(functions.entry_mtime, "archive_entry_mtime");
  find(functions.entry_mtime_is_set, "archive_entry_mtime_is_set");
  find(functions.entry_pathname, "archive_entry_pathname");
  find(functions.entry_perm, "archive_entry_perm");
  find(functions.entry_size, "archive_entry_size");
  find(functions.entry_size_is_set, "archive_entry_size_is_set");
  find(functions.entry_symlink, "archive_entry_symlink");
  find(functions.error_string, "archive_error_string");
  find(functions.read_data_block, "archive_read_data_block");
  find(functions.read_free, "archive_read_free");
  find(functions.read_new, "archive_read_new");
  find(functions.read_next_header, "archive_read_next_header");
  find(functions.read_open_filename, "archive_read_open_filename");
  find(functions.support_bzip2, "archive_read_support_filter_bzip2");
  find(functions.support_gzip, "archive_read_support_filter_gzip");
  find(functions.support_xz, "archive_read_support_filter_xz");
  find(functions.support_zstd, "archive_read_support_filter_zstd");
  find(functions.support_tar, "archive_read_support_format_tar");
  find(functions.support_zip, "archive_read_support_format_zip");
  if (!has_all) return NotThere(name);
  return functions;
}

absl::StatusOr<const ArchiveLibrary*> TheArchiveLibrary() {
  static const absl::StatusOr<ArchiveLibrary> loaded = LoadArchiveLibrary(kLibrary);
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace weir::task
