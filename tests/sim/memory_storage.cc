#include "tests/sim/memory_storage.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"

namespace weir::sim {
namespace {

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

absl::Status Failed(int error_number, const char* what, const std::string& path) {
  return ErrnoStatus(error_number, absl::StrCat(what, " ", path));
}

std::string Below(const std::string& path) { return path == "/" ? path : path + "/"; }

// The first path that sorts behind everything below a directory.
std::string Behind(const std::string& directory) {
  std::string behind = Below(directory);
  ++behind.back();
  return behind;
}

}  // namespace

class MemoryStorage::Lock final : public env::FileLock {
 public:
  explicit Lock(std::shared_ptr<File> file) : file_(std::move(file)) { file_->locked = true; }
  ~Lock() override { file_->locked = false; }

 private:
  std::shared_ptr<File> file_;
};

MemoryStorage::MemoryStorage() {
  files_["/"] = std::make_shared<File>();
  files_["/"]->is_directory = true;
}

std::shared_ptr<MemoryStorage::File> MemoryStorage::Sized(std::int64_t bytes) {
  auto file = std::make_shared<File>();
  if (bytes > 0) file->written[0] = bytes;
  return file;
}

env::FileInfo MemoryStorage::InfoOf(const std::string& path, const File& file) const {
  return {path,
          file.is_directory,
          !file.is_directory,
          file.bytes(),
          mount_points_.contains(path),
          {.machine = 1}};
}

absl::Status MemoryStorage::Enter(const char* operation, const std::string& path) const {
  return gate_ ? gate_(operation, path) : absl::OkStatus();
}

absl::Status MemoryStorage::CheckRoom(const char* what, const std::string& path) const {
  return full_ ? Failed(ENOSPC, what, path) : CheckParent(path);
}

absl::Status MemoryStorage::CheckParent(const std::string& path) const {
  const auto parent = files_.find(ParentOf(path));
  if (parent == files_.end()) return Failed(ENOENT, "create", path);
  return parent->second->is_directory ? absl::OkStatus() : Failed(ENOTDIR, "create", path);
}

bool MemoryStorage::IsEmptyDirectory(const std::string& path) const {
  const auto it = files_.find(path);
  if (it == files_.end() || !it->second->is_directory) return false;
  const auto first = files_.lower_bound(Below(path));
  return first == files_.end() || !absl::StartsWith(first->first, Below(path));
}

absl::StatusOr<env::FileInfo> MemoryStorage::Stat(const std::string& path) {
  if (absl::Status gate = Enter("stat", path); !gate.ok()) return gate;
  const auto it = files_.find(path);
  if (it == files_.end()) return Failed(ENOENT, "look up", path);
  return InfoOf(path, *it->second);
}

absl::StatusOr<std::vector<env::FileInfo>> MemoryStorage::List(const std::string& directory) {
  if (absl::Status gate = Enter("list", directory); !gate.ok()) return gate;
  const auto it = files_.find(directory);
  if (it == files_.end()) return Failed(ENOENT, "list", directory);
  if (!it->second->is_directory) return Failed(ENOTDIR, "list", directory);
  std::vector<env::FileInfo> entries;
  const auto end = files_.lower_bound(Behind(directory));
  for (auto entry = files_.upper_bound(Below(directory)); entry != end; ++entry) {
    if (ParentOf(entry->first) == directory)
      entries.push_back(InfoOf(entry->first, *entry->second));
  }
  return entries;
}

absl::StatusOr<std::vector<std::string>> MemoryStorage::ListNames(const std::string& directory) {
  const auto entries = List(directory);
  if (!entries.ok()) return entries.status();
  std::vector<std::string> names;
  for (const env::FileInfo& entry : *entries) {
    names.push_back(entry.path.substr(Below(directory).size()));
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> MemoryStorage::Glob(const std::string& pattern) {
  if (absl::Status gate = Enter("glob", pattern); !gate.ok()) return gate;
  std::vector<std::string> matches;
  for (const auto& [path, file] : files_) {
    if (fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0) matches.push_back(path);
  }
  return matches;
}

bool MemoryStorage::MayWriteIn(const std::string& directory) {
  const auto it = files_.find(directory);
  return it != files_.end() && it->second->is_directory;
}

absl::Status MemoryStorage::MakeDirectory(const std::string& path) {
  if (absl::Status gate = Enter("mkdir", path); !gate.ok()) return gate;
  if (full_) return Failed(ENOSPC, "make directory", path);
  if (files_.contains(path)) return Failed(EEXIST, "make directory", path);
  if (absl::Status parent = CheckParent(path); !parent.ok()) return parent;
  files_[path] = std::make_shared<File>();
  files_[path]->is_directory = true;
  return absl::OkStatus();
}

absl::Status MemoryStorage::MakePrivate(const std::string& directory) {
  if (absl::Status gate = Enter("private", directory); !gate.ok()) return gate;
  const auto it = files_.find(directory);
  if (it == files_.end()) return Failed(ENOENT, "make private", directory);
  it->second->is_private = true;
  return absl::OkStatus();
}

absl::StatusOr<env::Privacy> MemoryStorage::PrivacyOf(const std::string& path) {
  if (absl::Status gate = Enter("stat", path); !gate.ok()) return gate;
  const auto it = files_.find(path);
  if (it == files_.end()) return Failed(ENOENT, "look up", path);
  if (!it->second->is_directory) return env::Privacy::kNoDirectory;
  return it->second->is_private ? env::Privacy::kPrivate : env::Privacy::kOpen;
}

absl::StatusOr<std::unique_ptr<env::FileLock>> MemoryStorage::MakeLock(const std::string& path) {
  if (!files_.contains(path)) {
    if (absl::Status made = WriteFile(path, ""); !made.ok()) return made;
  }
  return TakeLock(path);
}

absl::StatusOr<std::unique_ptr<env::FileLock>> MemoryStorage::TakeLock(const std::string& path) {
  if (absl::Status gate = Enter("lock", path); !gate.ok()) return gate;
  const auto it = files_.find(path);
  if (it == files_.end()) return Failed(ENOENT, "lock", path);
  if (it->second->locked) return Failed(EWOULDBLOCK, "lock", path);
  return std::make_unique<Lock>(it->second);
}

absl::Status MemoryStorage::Write(const std::string& path, std::string_view content, bool synced) {
  if (absl::Status gate = Enter("write", path); !gate.ok()) return gate;
  if (absl::Status room = CheckRoom("write", path); !room.ok()) return room;
  files_[path] = Sized(static_cast<std::int64_t>(content.size()));
  files_[path]->content = std::string(content);
  files_[path]->synced = synced;
  return absl::OkStatus();
}

absl::Status MemoryStorage::WriteFileAtomically(const std::string& path, std::string_view content) {
  return Write(path, content, /*synced=*/true);
}

absl::Status MemoryStorage::WriteNamed(const std::string& path, std::string_view content) {
  return Write(path, content, /*synced=*/true);
}

absl::Status MemoryStorage::WriteFile(const std::string& path, std::string_view content) {
  return Write(path, content, /*synced=*/false);
}

absl::Status MemoryStorage::WriteSized(const std::string& path, std::int64_t bytes) {
  if (absl::Status room = CheckRoom("write", path); !room.ok()) return room;
  files_[path] = Sized(bytes);
  return absl::OkStatus();
}

absl::Status MemoryStorage::WritePiece(const std::string& path, std::int64_t offset,
                                       std::int64_t bytes, bool may_be_there) {
  if (absl::Status room = CheckRoom("write", path); !room.ok()) return room;
  std::shared_ptr<File>& file = files_[path];
  if (file == nullptr) file = std::make_shared<File>();
  auto& written = file->written;
  std::int64_t begin = offset;
  std::int64_t end = offset + bytes;
  auto next = written.lower_bound(begin);
  const bool into_next = next != written.end() && next->first < end;
  const bool into_last = next != written.begin() && std::prev(next)->second > begin;
  if ((into_next || into_last) && !may_be_there) {
    return absl::DataLossError(absl::StrCat("bytes ", begin, " to ", end, " of ", path,
                                            " overlap what was written before"));
  }
  if (next != written.begin() && std::prev(next)->second >= begin) {
    begin = std::prev(next)->first;
    end = std::max(end, std::prev(next)->second);
  }
  while (next != written.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = written.erase(next);
  }
  written[begin] = end;
  return absl::OkStatus();
}

absl::Status MemoryStorage::CheckWritten(const std::string& path, std::int64_t offset,
                                         std::int64_t bytes) const {
  const auto it = files_.find(path);
  if (it == files_.end()) return Failed(ENOENT, "read", path);
  const auto& written = it->second->written;
  const auto after = written.upper_bound(offset);
  const std::int64_t until = after == written.begin() ? 0 : std::prev(after)->second;
  if (bytes == 0 || until >= offset + bytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("bytes ", std::max(until, offset), " to ", offset + bytes,
                                          " of ", path, " were not written"));
}

absl::StatusOr<std::string> MemoryStorage::ReadFile(const std::string& path,
                                                    std::int64_t max_bytes) {
  if (absl::Status gate = Enter("read", path); !gate.ok()) return gate;
  const auto it = files_.find(path);
  if (it == files_.end()) return Failed(ENOENT, "read", path);
  if (it->second->bytes() > max_bytes) return Failed(EFBIG, "read", path);
  return it->second->content;
}

absl::StatusOr<std::string> MemoryStorage::ReadAt(const std::string& path, std::int64_t offset,
                                                  std::int64_t bytes_max) {
  if (absl::Status gate = Enter("read", path); !gate.ok()) return gate;
  const auto it = files_.find(path);
  if (it == files_.end()) return Failed(ENOENT, "read", path);
  const std::string& content = it->second->content;
  if (offset >= static_cast<std::int64_t>(content.size())) return std::string();
  return content.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes_max));
}

absl::StatusOr<std::vector<std::int64_t>> MemoryStorage::NotInMemory(
    const std::string& path, const std::vector<std::int64_t>& /*offsets*/) {
  if (absl::Status gate = Enter("read", path); !gate.ok()) return gate;
  if (!files_.contains(path)) return Failed(ENOENT, "read", path);
  return std::vector<std::int64_t>();
}

absl::Status MemoryStorage::WriteAt(const std::string& path, std::int64_t offset,
                                    std::string_view bytes) {
  if (absl::Status gate = Enter("write", path); !gate.ok()) return gate;
  if (absl::Status room = CheckRoom("write", path); !room.ok()) return room;
  std::shared_ptr<File>& file = files_[path];
  if (file == nullptr) file = std::make_shared<File>();
  const std::size_t end = static_cast<std::size_t>(offset) + bytes.size();
  if (file->content.size() < end) file->content.resize(end);
  file->content.replace(static_cast<std::size_t>(offset), bytes.size(), bytes);
  file->written = {{0, static_cast<std::int64_t>(file->content.size())}};
  return absl::OkStatus();
}

absl::Status MemoryStorage::Seal(const std::string& path, bool /*executable*/) {
  if (absl::Status gate = Enter("sync", path); !gate.ok()) return gate;
  const auto it = files_.find(path);
  if (it == files_.end()) return Failed(ENOENT, "sync", path);
  it->second->synced = true;
  return absl::OkStatus();
}

absl::Status MemoryStorage::Rename(const std::string& from, const std::string& to) {
  if (absl::Status gate = Enter("rename", from); !gate.ok()) return gate;
  if (!files_.contains(from)) return Failed(ENOENT, "rename", from);
  if (mount_points_.contains(from)) return Failed(EBUSY, "rename", from);
  if (files_.contains(to) && !IsEmptyDirectory(to)) return Failed(EEXIST, "rename", to);
  if (absl::Status parent = CheckParent(to); !parent.ok()) return parent;
  Move(from, to);
  return absl::OkStatus();
}

absl::Status MemoryStorage::Exchange(const std::string& a, const std::string& b) {
  if (absl::Status gate = Enter("exchange", a); !gate.ok()) return gate;
  if (!exchanges_) return absl::UnimplementedError(absl::StrCat("exchange ", a, " and ", b));
  for (const std::string& path : {a, b}) {
    if (!files_.contains(path)) return Failed(ENOENT, "exchange", path);
    if (mount_points_.contains(path)) return Failed(EBUSY, "exchange", path);
  }
  const std::string aside = a + ".exchanged";
  Move(a, aside);
  Move(b, a);
  Move(aside, b);
  return absl::OkStatus();
}

void MemoryStorage::Move(const std::string& from, const std::string& to) {
  std::map<std::string, std::shared_ptr<File>> moved;
  const auto begin = files_.lower_bound(Below(from));
  const auto end = files_.lower_bound(Behind(from));
  for (auto it = begin; it != end; ++it) {
    moved[to + it->first.substr(from.size())] = std::move(it->second);
  }
  files_.erase(begin, end);
  moved[to] = std::move(files_[from]);
  files_.erase(from);
  for (auto& [path, file] : moved) files_[path] = std::move(file);
}

absl::Status MemoryStorage::HandOverRun(const std::string& source, const std::string& destination) {
  if (absl::Status gate = Enter("link", source); !gate.ok()) return gate;
  const auto it = files_.find(source);
  if (it == files_.end()) return Failed(ENOENT, "link", source);
  if (files_.contains(destination)) return absl::OkStatus();
  if (absl::Status room = CheckRoom("link", destination); !room.ok()) return room;
  files_[destination] = it->second;
  return absl::OkStatus();
}

absl::Status MemoryStorage::SyncDirectory(const std::string& path) {
  if (absl::Status gate = Enter("sync", path); !gate.ok()) return gate;
  return files_.contains(path) ? absl::OkStatus() : Failed(ENOENT, "sync", path);
}

absl::Status MemoryStorage::RemoveAll(const std::string& path) {
  if (absl::Status gate = Enter("remove", path); !gate.ok()) return gate;
  files_.erase(files_.lower_bound(Below(path)), files_.lower_bound(Behind(path)));
  files_.erase(path);
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> MemoryStorage::FreeBytes(const std::string& path) {
  if (absl::Status gate = Enter("free", path); !gate.ok()) return gate;
  return full_ ? 0 : std::int64_t{1} << 40;
}

void MemoryStorage::Tear(File& file, SeededRandom& random) {
  const std::int64_t bytes = file.bytes();
  if (bytes == 0) return;
  const std::int64_t left = random.Between(0, bytes - 1);
  if (random.Chance(0.5)) {
    file.content.resize(std::min(file.content.size(), static_cast<std::size_t>(left)));
    std::erase_if(file.written, [left](const auto& range) { return range.first >= left; });
    if (!file.written.empty()) {
      std::int64_t& end = file.written.rbegin()->second;
      end = std::min(end, left);
    }
    return;
  }
  // The length reached the disk; of the bytes one in the middle, at least, did not.
  for (std::size_t i = static_cast<std::size_t>(left); i < file.content.size(); ++i) {
    file.content[i] = '\0';
  }
  if (file.content.empty()) file.written = {{bytes, bytes}};
}

void MemoryStorage::LosePower(const std::string& directory, SeededRandom& random) {
  std::vector<std::string> gone;
  const auto end = files_.lower_bound(Behind(directory));
  for (auto it = files_.upper_bound(Below(directory)); it != end; ++it) {
    File& file = *it->second;
    if (file.is_directory || file.synced || random.Chance(0.4)) continue;
    if (random.Chance(0.3)) {
      gone.push_back(it->first);
    } else {
      Tear(file, random);
    }
  }
  for (const std::string& path : gone) files_.erase(path);
}

std::vector<std::string> MemoryStorage::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, file] : files_) paths.push_back(path);
  return paths;
}

}  // namespace weir::sim
