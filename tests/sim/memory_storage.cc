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

}  // namespace

absl::Status MemoryStorage::Enter(const char* operation, const std::string& path) const {
  return gate_ ? gate_(operation, path) : absl::OkStatus();
}

absl::Status MemoryStorage::CheckParent(const std::string& path) const {
  const auto parent = nodes_.find(ParentOf(path));
  if (parent == nodes_.end()) return Failed(ENOENT, "create", path);
  return parent->second.is_directory ? absl::OkStatus() : Failed(ENOTDIR, "create", path);
}

bool MemoryStorage::IsEmptyDirectory(const std::string& path) const {
  const auto it = nodes_.find(path);
  if (it == nodes_.end() || !it->second.is_directory) return false;
  const auto next = std::next(it);
  return next == nodes_.end() || !absl::StartsWith(next->first, Below(path));
}

absl::StatusOr<env::FileInfo> MemoryStorage::Stat(const std::string& path) {
  if (absl::Status gate = Enter("stat", path); !gate.ok()) return gate;
  const auto it = nodes_.find(path);
  if (it == nodes_.end()) return Failed(ENOENT, "look up", path);
  return env::FileInfo{path, it->second.is_directory, !it->second.is_directory, it->second.bytes};
}

absl::StatusOr<std::vector<env::FileInfo>> MemoryStorage::List(const std::string& directory) {
  if (absl::Status gate = Enter("list", directory); !gate.ok()) return gate;
  const auto it = nodes_.find(directory);
  if (it == nodes_.end()) return Failed(ENOENT, "list", directory);
  if (!it->second.is_directory) return Failed(ENOTDIR, "list", directory);
  std::vector<env::FileInfo> entries;
  for (const auto& [path, node] : nodes_) {
    if (path == "/" || ParentOf(path) != directory) continue;
    entries.push_back({path, node.is_directory, !node.is_directory, node.bytes});
  }
  return entries;
}

absl::StatusOr<std::vector<std::string>> MemoryStorage::Glob(const std::string& pattern) {
  if (absl::Status gate = Enter("glob", pattern); !gate.ok()) return gate;
  std::vector<std::string> matches;
  for (const auto& [path, node] : nodes_) {
    if (fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0) matches.push_back(path);
  }
  return matches;
}

absl::Status MemoryStorage::MakeDirectory(const std::string& path) {
  if (absl::Status gate = Enter("mkdir", path); !gate.ok()) return gate;
  if (full_) return Failed(ENOSPC, "make directory", path);
  if (nodes_.contains(path)) return Failed(EEXIST, "make directory", path);
  if (absl::Status parent = CheckParent(path); !parent.ok()) return parent;
  nodes_[path] = Node{.is_directory = true, .content = {}, .bytes = 0};
  return absl::OkStatus();
}

absl::Status MemoryStorage::WriteFileAtomically(const std::string& path, std::string_view content) {
  if (absl::Status gate = Enter("write", path); !gate.ok()) return gate;
  if (full_) return Failed(ENOSPC, "write", path);
  if (absl::Status parent = CheckParent(path); !parent.ok()) return parent;
  nodes_[path] = Node{false, std::string(content), static_cast<std::int64_t>(content.size())};
  return absl::OkStatus();
}

absl::Status MemoryStorage::WriteSized(const std::string& path, std::int64_t bytes) {
  if (full_) return Failed(ENOSPC, "write", path);
  if (absl::Status parent = CheckParent(path); !parent.ok()) return parent;
  nodes_[path] = Node{false, "", bytes};
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryStorage::ReadFile(const std::string& path,
                                                    std::int64_t max_bytes) {
  if (absl::Status gate = Enter("read", path); !gate.ok()) return gate;
  const auto it = nodes_.find(path);
  if (it == nodes_.end()) return Failed(ENOENT, "read", path);
  if (it->second.bytes > max_bytes) return Failed(EFBIG, "read", path);
  return it->second.content;
}

absl::Status MemoryStorage::Rename(const std::string& from, const std::string& to) {
  if (absl::Status gate = Enter("rename", from); !gate.ok()) return gate;
  if (!nodes_.contains(from)) return Failed(ENOENT, "rename", from);
  if (nodes_.contains(to) && !IsEmptyDirectory(to)) return Failed(EEXIST, "rename", to);
  if (absl::Status parent = CheckParent(to); !parent.ok()) return parent;
  std::map<std::string, Node> moved;
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    if (it->first == from || absl::StartsWith(it->first, from + "/")) {
      moved[to + it->first.substr(from.size())] = std::move(it->second);
      it = nodes_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto& [path, node] : moved) nodes_[path] = std::move(node);
  return absl::OkStatus();
}

absl::Status MemoryStorage::SyncDirectory(const std::string& path) {
  if (absl::Status gate = Enter("sync", path); !gate.ok()) return gate;
  return nodes_.contains(path) ? absl::OkStatus() : Failed(ENOENT, "sync", path);
}

absl::Status MemoryStorage::RemoveAll(const std::string& path) {
  if (absl::Status gate = Enter("remove", path); !gate.ok()) return gate;
  std::erase_if(nodes_, [&](const auto& node) {
    return node.first == path || absl::StartsWith(node.first, path + "/");
  });
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> MemoryStorage::FreeBytes(const std::string& path) {
  if (absl::Status gate = Enter("free", path); !gate.ok()) return gate;
  return full_ ? 0 : std::int64_t{1} << 40;
}

std::vector<std::string> MemoryStorage::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : nodes_) paths.push_back(path);
  return paths;
}

}  // namespace weir::sim
