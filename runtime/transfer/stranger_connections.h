#pragma once

// Which connections may stay that have not shown a job's token yet. Pure. Upstream: DataServer
// tells who comes and who has shown one. Downstream: it closes whom it is named.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"

namespace weir::transfer {

/// Bounds what strangers cost, and lets real peers in all the same.
///
/// Model: a peer asks as soon as it is connected, so that one that waits is more likely a stranger
///   the longer it waits. When there are too many, the one that came first goes, of the address
///   that holds most: whoever opens many connections displaces its own, and a peer at the same
///   address only has to ask before `connections_max` more have come.
/// Requires: ids grow. Time: passed in as `now`, never goes backwards.
/// Bounds: connections_max entries. O(connections_max) a call.
/// Checked by: tests/unit/transfer/stranger_connections_test.cc.
class StrangerConnections {
 public:
  using Id = std::int64_t;

  StrangerConnections(int connections_max, absl::Duration patience)
      : connections_max_(connections_max), patience_(patience) {}

  /// Adds a connection. Returns the one to close instead, which is no longer kept.
  std::optional<Id> Add(Id id, const std::string& address, MonoTime now);
  /// Takes out one that has shown its token, or has ended. Unknown ones are ignored.
  void Remove(Id id);
  /// Takes out and returns the one that goes first, if there is any.
  std::optional<Id> TakeOne();
  /// Takes out and returns those that came `patience` or longer ago.
  std::vector<Id> TakeExpired(MonoTime now);
  /// Returns when TakeExpired has something to return next.
  std::optional<MonoTime> next_expiry() const;
  std::size_t size() const { return connections_.size(); }

 private:
  struct Connection {
    std::string address;
    MonoTime expiry;
  };

  const int connections_max_;
  const absl::Duration patience_;
  absl::btree_map<Id, Connection> connections_;  // oldest first
  absl::btree_map<std::string, int> num_by_address_;
};

}  // namespace weir::transfer
