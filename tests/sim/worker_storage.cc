#include "tests/sim/worker_storage.h"

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"

namespace weir::sim {

// Held by the daemon, and given up by the kernel when that is dead.
class WorkerStorage::Lock final : public env::FileLock {
 public:
  explicit Lock(std::shared_ptr<std::unique_ptr<env::FileLock>> lock) : lock_(std::move(lock)) {}
  ~Lock() override { lock_->reset(); }

 private:
  std::shared_ptr<std::unique_ptr<env::FileLock>> lock_;
};

MemoryStorage& WorkerStorage::Of(const std::string& path) {
  const bool below = absl::StartsWith(path, own_disk_) &&
                     (path.size() == own_disk_.size() || path[own_disk_.size()] == '/');
  return below ? disks_ : shared_;
}

absl::Status WorkerStorage::CheckRoom(const std::string& path) {
  const bool full = faults_.disk_full && &Of(path) == &disks_;
  return full ? ErrnoStatus(ENOSPC, absl::StrCat("write ", path)) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<env::FileLock>> WorkerStorage::Own(
    absl::StatusOr<std::unique_ptr<env::FileLock>> lock) {
  if (!lock.ok()) return lock;
  locks_.push_back(std::make_shared<std::unique_ptr<env::FileLock>>(*std::move(lock)));
  return std::make_unique<Lock>(locks_.back());
}

void WorkerStorage::DropLocks() {
  for (const auto& lock : locks_) lock->reset();
}

absl::StatusOr<env::FileInfo> WorkerStorage::Stat(const std::string& path) {
  absl::StatusOr<env::FileInfo> info = Of(path).Stat(path);
  if (info.ok()) info->version.machine = machine_start_;
  return info;
}

absl::StatusOr<std::vector<env::FileInfo>> WorkerStorage::List(const std::string& directory) {
  return Of(directory).List(directory);
}

absl::StatusOr<std::vector<std::string>> WorkerStorage::ListNames(const std::string& directory) {
  return Of(directory).ListNames(directory);
}

absl::StatusOr<std::vector<std::string>> WorkerStorage::Glob(const std::string& pattern) {
  return Of(pattern).Glob(pattern);
}

bool WorkerStorage::MayWriteIn(const std::string& directory) {
  return Of(directory).MayWriteIn(directory);
}

absl::Status WorkerStorage::MakeDirectory(const std::string& path) {
  absl::Status room = CheckRoom(path);
  return room.ok() ? Of(path).MakeDirectory(path) : room;
}

absl::Status WorkerStorage::MakePrivate(const std::string& directory) {
  return Of(directory).MakePrivate(directory);
}

absl::StatusOr<env::Privacy> WorkerStorage::PrivacyOf(const std::string& path) {
  return Of(path).PrivacyOf(path);
}

absl::StatusOr<std::unique_ptr<env::FileLock>> WorkerStorage::MakeLock(const std::string& path) {
  if (absl::Status room = CheckRoom(path); !room.ok()) return room;
  return Own(Of(path).MakeLock(path));
}

absl::StatusOr<std::unique_ptr<env::FileLock>> WorkerStorage::TakeLock(const std::string& path) {
  return Own(Of(path).TakeLock(path));
}

absl::Status WorkerStorage::WriteFileAtomically(const std::string& path, std::string_view content) {
  absl::Status room = CheckRoom(path);
  return room.ok() ? Of(path).WriteFileAtomically(path, content) : room;
}

absl::Status WorkerStorage::WriteNamed(const std::string& path, std::string_view content) {
  absl::Status room = CheckRoom(path);
  return room.ok() ? Of(path).WriteNamed(path, content) : room;
}

absl::Status WorkerStorage::WriteFile(const std::string& path, std::string_view content) {
  absl::Status room = CheckRoom(path);
  return room.ok() ? Of(path).WriteFile(path, content) : room;
}

absl::StatusOr<std::string> WorkerStorage::ReadFile(const std::string& path,
                                                    std::int64_t max_bytes) {
  return Of(path).ReadFile(path, max_bytes);
}

absl::StatusOr<std::string> WorkerStorage::ReadAt(const std::string& path, std::int64_t offset,
                                                  std::int64_t bytes_max) {
  return Of(path).ReadAt(path, offset, bytes_max);
}

absl::StatusOr<std::vector<std::int64_t>> WorkerStorage::NotInMemory(
    const std::string& path, const std::vector<std::int64_t>& offsets) {
  return Of(path).NotInMemory(path, offsets);
}

absl::Status WorkerStorage::WriteAt(const std::string& path, std::int64_t offset,
                                    std::string_view bytes) {
  absl::Status room = CheckRoom(path);
  return room.ok() ? Of(path).WriteAt(path, offset, bytes) : room;
}

absl::Status WorkerStorage::Seal(const std::string& path, bool executable) {
  return Of(path).Seal(path, executable);
}

absl::Status WorkerStorage::Rename(const std::string& from, const std::string& to) {
  if (&Of(from) != &Of(to)) return ErrnoStatus(EXDEV, absl::StrCat("rename ", from, " to ", to));
  return Of(from).Rename(from, to);
}

absl::Status WorkerStorage::Exchange(const std::string& a, const std::string& b) {
  if (&Of(a) != &Of(b)) return ErrnoStatus(EXDEV, absl::StrCat("exchange ", a, " and ", b));
  return Of(a).Exchange(a, b);
}

absl::Status WorkerStorage::HandOverRun(const std::string& source, const std::string& destination) {
  if (absl::Status room = CheckRoom(destination); !room.ok()) return room;
  if (&Of(source) == &Of(destination)) return Of(source).HandOverRun(source, destination);
  return ErrnoStatus(ENOENT, absl::StrCat("link ", source, " to ", destination));
}

absl::Status WorkerStorage::SyncDirectory(const std::string& path) {
  return Of(path).SyncDirectory(path);
}

absl::Status WorkerStorage::RemoveAll(const std::string& path) { return Of(path).RemoveAll(path); }

absl::StatusOr<std::int64_t> WorkerStorage::FreeBytes(const std::string& path) {
  if (!CheckRoom(path).ok()) return 0;
  return Of(path).FreeBytes(path);
}

absl::Status WorkerStorage::WriteSized(const std::string& path, std::int64_t bytes) {
  absl::Status room = CheckRoom(path);
  return room.ok() ? Of(path).WriteSized(path, bytes) : room;
}

absl::Status WorkerStorage::WritePiece(const std::string& path, std::int64_t offset,
                                       std::int64_t bytes, bool may_be_there) {
  absl::Status room = CheckRoom(path);
  return room.ok() ? Of(path).WritePiece(path, offset, bytes, may_be_there) : room;
}

absl::Status WorkerStorage::CheckWritten(const std::string& path, std::int64_t offset,
                                         std::int64_t bytes) {
  return Of(path).CheckWritten(path, offset, bytes);
}

}  // namespace weir::sim
