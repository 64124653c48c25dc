#include "runtime/artifacts/artifact_cache.h"

#include <algorithm>
#include <utility>

namespace weir {

void ArtifactCache::Put(const std::string& sha256, std::int64_t bytes, MonoTime now) {
  Drop(sha256);
  entries_[sha256] = {bytes, now};
  bytes_ += bytes;
}

void ArtifactCache::Drop(const std::string& sha256) {
  const auto entry = entries_.find(sha256);
  if (entry == entries_.end()) return;
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
}

std::optional<std::int64_t> ArtifactCache::BytesOf(const std::string& sha256) const {
  const auto entry = entries_.find(sha256);
  if (entry == entries_.end()) return std::nullopt;
  return entry->second.bytes;
}

void ArtifactCache::Use(const std::string& sha256, MonoTime now) {
  const auto entry = entries_.find(sha256);
  if (entry != entries_.end()) entry->second.used = now;
}

void ArtifactCache::Hold(const std::string& holder, const std::string& sha256) {
  if (held_by_[holder].insert(sha256).second) ++holders_[sha256];
}

void ArtifactCache::LetGo(const std::string& holder, MonoTime now) {
  const auto held = held_by_.extract(holder);
  if (held.empty()) return;
  for (const std::string& sha256 : held.mapped()) {
    Use(sha256, now);
    const auto count = holders_.find(sha256);
    if (--count->second == 0) holders_.erase(count);
  }
}

bool ArtifactCache::HasRoomFor(std::int64_t bytes) const {
  std::int64_t held = 0;
  for (const auto& [sha256, entry] : entries_) {
    if (Held(sha256)) held += entry.bytes;
  }
  return bytes <= bounds_.bytes_max - held;
}

std::vector<std::string> ArtifactCache::TakeDoomed(MonoTime now) {
  std::vector<std::pair<MonoTime, std::string>> unheld;
  for (const auto& [sha256, entry] : entries_) {
    if (!Held(sha256)) unheld.emplace_back(entry.used, sha256);
  }
  std::sort(unheld.begin(), unheld.end());
  std::vector<std::string> doomed;
  for (const auto& [used, sha256] : unheld) {
    if (bytes_ <= bounds_.bytes_max && now - used < bounds_.age_max) break;
    Drop(sha256);
    doomed.push_back(sha256);
  }
  return doomed;
}

}  // namespace weir
