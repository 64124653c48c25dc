#pragma once

// Which artifacts are kept, and which go. Pure. Upstream: ArtifactDepot (master), ArtifactSupply
// (worker). Downstream: nothing; whoever asks removes the files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"

namespace weir {

/// What lies in a cache of artifacts, by hash, who needs it, and since when nobody does.
///
/// Time: passed in; `now` must not go backwards.
/// Bounds: what nobody holds goes, the longest unused first, as soon as all together are more than
///   `bytes_max`, or when nobody used it for `age_max`. What somebody holds never goes.
/// Checked by: tests/unit/artifacts/artifact_cache_test.cc (against a model, RapidCheck).
class ArtifactCache {
 public:
  struct Bounds {
    std::int64_t bytes_max = 0;
    absl::Duration age_max;
  };
  explicit ArtifactCache(Bounds bounds) : bounds_(bounds) {}

  /// It is there from now on.
  void Put(const std::string& sha256, std::int64_t bytes, MonoTime now);
  /// It is not there any more (removed, or damaged). Holders keep their hold on what comes next.
  void Drop(const std::string& sha256);
  /// Its size, if it is there.
  std::optional<std::int64_t> BytesOf(const std::string& sha256) const;
  /// Somebody asked for it.
  void Use(const std::string& sha256, MonoTime now);

  /// From now on `holder` needs it, whether it is there already or not.
  void Hold(const std::string& holder, const std::string& sha256);
  /// `holder` needs nothing any more; what it held counts as used now.
  void LetGo(const std::string& holder, MonoTime now);

  /// Whether `bytes` more stay within the bound once all that nobody holds is gone.
  bool HasRoomFor(std::int64_t bytes) const;
  /// Forgets and returns, longest unused first, what has to go.
  std::vector<std::string> TakeDoomed(MonoTime now);

  bool empty() const { return entries_.empty(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::int64_t bytes = 0;
    MonoTime used;
  };
  bool Held(const std::string& sha256) const { return holders_.contains(sha256); }

  const Bounds bounds_;
  absl::btree_map<std::string, Entry> entries_;
  absl::btree_map<std::string, int> holders_;  // how many hold it
  absl::btree_map<std::string, absl::btree_set<std::string>> held_by_;
  std::int64_t bytes_ = 0;
};

}  // namespace weir
