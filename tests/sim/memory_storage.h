#pragma once

// A shared file system in memory, with the failures that matter to the master. Outlives processes.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/env/storage.h"

namespace weir::sim {

/// Errors carry the errno that a real file system gives. Thread-safety: none.
class MemoryStorage final : public env::Storage {
 public:
  MemoryStorage() { nodes_["/"] = Node{.is_directory = true, .content = {}, .bytes = 0}; }

  absl::StatusOr<env::FileInfo> Stat(const std::string& path) override;
  absl::StatusOr<std::vector<env::FileInfo>> List(const std::string& directory) override;
  absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) override;
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status WriteFileAtomically(const std::string& path, std::string_view content) override;
  absl::StatusOr<std::string> ReadFile(const std::string& path, std::int64_t max_bytes) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status SyncDirectory(const std::string& path) override;
  absl::Status RemoveAll(const std::string& path) override;
  absl::StatusOr<std::int64_t> FreeBytes(const std::string& path) override;

  /// A file of which only the size matters.
  absl::Status WriteSized(const std::string& path, std::int64_t bytes);
  /// Every path, sorted.
  std::vector<std::string> Paths() const;
  void SetFull(bool full) { full_ = full; }
  /// Called before every operation; a status other than OK is its result.
  void SetGate(std::function<absl::Status(const char* operation, const std::string& path)> gate) {
    gate_ = std::move(gate);
  }

 private:
  struct Node {
    bool is_directory = false;
    std::string content;
    std::int64_t bytes = 0;
  };
  absl::Status Enter(const char* operation, const std::string& path) const;
  absl::Status CheckParent(const std::string& path) const;
  bool IsEmptyDirectory(const std::string& path) const;

  std::map<std::string, Node> nodes_;
  std::function<absl::Status(const char*, const std::string&)> gate_;
  bool full_ = false;
};

}  // namespace weir::sim
