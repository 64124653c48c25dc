#pragma once

// Connections that wait for their next use, by where they lead. Upstream: Fetcher, when a
// fetch has ended well. Downstream: its next fetch from there.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"

namespace weir::transfer {

/// Keeps connections until they are used again. Those that end while they wait, as most do, go with
/// their endpoints, whether or not anybody asks for these again: a worker that was started anew
/// listens elsewhere.
///
/// `Connection`: DataSocket.
/// Thread-safety: one thread at a time.
/// Bounds: kKeptMin connections, or twice those that were whole when the closed ones were last
///   sought; O(log n) a call, over many of them.
/// Checked by: tests/unit/transfer/idle_connections_test.cc.
template <typename Connection>
class IdleConnections {
 public:
  /// So few are not worth looking for closed ones among them.
  static constexpr std::size_t kKeptMin = 16;

  /// Takes out the one that came last of those to `endpoint` that may be used again; null where
  /// there is none. Closes what may not.
  std::shared_ptr<Connection> Take(const std::string& endpoint) {
    const auto at = waiting_.find(endpoint);
    if (at == waiting_.end()) return nullptr;
    std::vector<std::shared_ptr<Connection>>& waiting = at->second;
    std::shared_ptr<Connection> found;
    while (found == nullptr && !waiting.empty()) {
      std::shared_ptr<Connection> last = std::move(waiting.back());
      waiting.pop_back();
      --size_;
      if (last->ReadyForReuse()) {
        found = std::move(last);
      } else {
        last->Close(absl::UnavailableError("closed by the peer while idle"));
      }
    }
    if (waiting.empty()) waiting_.erase(at);
    return found;
  }

  void Put(const std::string& endpoint, std::shared_ptr<Connection> connection) {
    if (size_ >= look_at_) DropClosed();
    waiting_[endpoint].push_back(std::move(connection));
    ++size_;
  }

  /// Closes and drops all of them.
  void CloseAll(const absl::Status& why) {
    for (const auto& [endpoint, waiting] : waiting_) {
      for (const std::shared_ptr<Connection>& connection : waiting) connection->Close(why);
    }
    waiting_.clear();
    size_ = 0;
  }

  /// Connections that are held, closed ones among them; and endpoints.
  std::size_t size() const { return size_; }
  std::size_t num_endpoints() const { return waiting_.size(); }

 private:
  void DropClosed() {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      size_ -= std::erase_if(at->second, [](const std::shared_ptr<Connection>& connection) {
        return connection->closed();
      });
      at = at->second.empty() ? waiting_.erase(at) : std::next(at);
    }
    look_at_ = std::max(kKeptMin, 2 * size_);
  }

  absl::btree_map<std::string, std::vector<std::shared_ptr<Connection>>> waiting_;  // by endpoint
  std::size_t size_ = 0;
  std::size_t look_at_ = kKeptMin;  // with so many, closed ones are sought
};

}  // namespace weir::transfer
