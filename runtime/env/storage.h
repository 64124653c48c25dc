#pragma once

// Files as the control processes use them: listing inputs, staging and publishing output, work
// directories. Blocking: call from a WorkPool. The bytes of runs do not go through here, but for a
// run that is handed over.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::env {

/// Which content a file has, as far as the system tells: one that is replaced or written to has
/// another.
struct FileVersion {
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // of the inode
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  std::uint64_t machine = 0;  // MachineId
};

struct FileInfo {
  std::string path;
  bool is_directory = false;
  bool is_regular = false;
  std::int64_t bytes = 0;
  /// A directory with a file system of its own, or one that is mounted here a second time: it can
  /// be neither renamed nor replaced. Told by Stat and List where the system tells it.
  bool is_mount_point = false;
  FileVersion version = {};
};

/// Who gets at a directory.
enum class Privacy {
  kPrivate,      // this user alone
  kOpen,         // this user's, but its mode lets others in, as all do where none are kept
  kForeign,      // another user's
  kNoDirectory,  // something else, such as a symbolic link to one
};

/// A lock that others of its file's users respect. Held until this is destroyed, or until the
/// process ends, however that happens. It belongs to the file and goes along when that is renamed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// Errors everywhere: kNotFound, kPermissionDenied, kAlreadyExists, kResourceExhausted (disk full),
/// else kUnavailable; messages name the path.
class Storage {
 public:
  virtual ~Storage() = default;
  /// Follows symbolic links.
  virtual absl::StatusOr<FileInfo> Stat(const std::string& path) = 0;
  /// Entries of a directory, sorted by name, "." and ".." left out.
  virtual absl::StatusOr<std::vector<FileInfo>> List(const std::string& directory) = 0;
  /// Names in a directory, sorted, "." and ".." left out: links to nowhere too, and no look at
  /// what the names stand for.
  virtual absl::StatusOr<std::vector<std::string>> ListNames(const std::string& directory) = 0;
  /// Paths that match a shell glob, sorted.
  virtual absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) = 0;
  /// True when this user may make entries in a directory.
  virtual bool MayWriteIn(const std::string& directory) = 0;
  /// Fails when `path` exists. Parents must exist.
  virtual absl::Status MakeDirectory(const std::string& path) = 0;
  /// Closes a directory to everybody but its owner.
  virtual absl::Status MakePrivate(const std::string& directory) = 0;
  /// Says whose a directory is. Follows no symbolic link at the end of `path`.
  virtual absl::StatusOr<Privacy> PrivacyOf(const std::string& path) = 0;
  /// Makes a file where there is none, for its owner alone, and locks it. Follows no symbolic
  /// link at the end of `path`. Errors: kUnavailable while somebody else holds it.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> MakeLock(const std::string& path) = 0;
  /// Locks a file that is there. Errors: as MakeLock.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> TakeLock(const std::string& path) = 0;
  /// Writes to a temporary name, syncs, renames over `path`.
  virtual absl::Status WriteFileAtomically(const std::string& path, std::string_view content) = 0;
  /// Writes to a path that a user named, whatever is there: a file as WriteFileAtomically, the one
  /// behind a symbolic link too, while the link stays; what is no regular file (a device, a pipe,
  /// /dev/stdout) in place. Blocking: a pipe may have to wait for its reader.
  virtual absl::Status WriteNamed(const std::string& path, std::string_view content) = 0;
  /// Writes a file for its owner alone, in place and not synced: for what a crash may take.
  virtual absl::Status WriteFile(const std::string& path, std::string_view content) = 0;
  virtual absl::StatusOr<std::string> ReadFile(const std::string& path, std::int64_t max_bytes) = 0;
  /// At most `bytes_max` bytes of a file from `offset` on; fewer only where it ends.
  virtual absl::StatusOr<std::string> ReadAt(const std::string& path, std::int64_t offset,
                                             std::int64_t bytes_max) = 0;
  /// Those of some places of a file whose byte is not in memory, in the order given, so that who
  /// reads it waits for a disk. Does not wait for it itself. Where the system does not tell, a byte
  /// counts as there. A place that was asked for may be in memory soon after: the kernel begins to
  /// read it, and one that the disk gives before the kernel has looked again counts as there, too.
  virtual absl::StatusOr<std::vector<std::int64_t>> NotInMemory(
      const std::string& path, const std::vector<std::int64_t>& offsets) = 0;
  /// Writes bytes at `offset` of a file for its owner alone, which is made where there is none. Not
  /// synced.
  virtual absl::Status WriteAt(const std::string& path, std::int64_t offset,
                               std::string_view bytes) = 0;
  /// Syncs a file that is whole and takes the right to write to it from everybody; its owner may
  /// execute it from then on if `executable`.
  virtual absl::Status Seal(const std::string& path, bool executable) = 0;
  /// Renames and syncs the parent directory. Fails when `to` exists, unless it is an empty
  /// directory.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  /// Makes the file `source` appear as `destination`: by a hard link, or by a copy where the two
  /// are on different file systems or links are not allowed. A destination that exists already is
  /// left as it is: runs are immutable. Blocking: a copy moves the whole run. Failure semantics: a
  /// copy appears whole or not at all. Errors: kNotFound (source gone); messages name both paths.
  virtual absl::Status HandOverRun(const std::string& source, const std::string& destination) = 0;
  /// Gives two directories, or files, each other's names in one step and syncs the directories
  /// above. Errors: kUnimplemented where the file system or the kernel cannot; nothing has happened
  /// then.
  virtual absl::Status Exchange(const std::string& a, const std::string& b) = 0;
  virtual absl::Status SyncDirectory(const std::string& path) = 0;
  /// Removes a tree; not existing is success.
  virtual absl::Status RemoveAll(const std::string& path) = 0;
  /// Bytes free to this user on the file system of `path`.
  virtual absl::StatusOr<std::int64_t> FreeBytes(const std::string& path) = 0;
};

}  // namespace weir::env
