#pragma once

// Things that are read one after the other, dealt out to several readers. Upstream: sections.
// Downstream: shared_section.h, shared_groups.h.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir {

/// Deals items out in turns: the first to the first reader, the next one to the next. Who gets one
/// does not depend on how fast readers are.
///
/// Thread-safety: each reader on a thread of its own; whichever comes first reads for all.
/// Errors: those of reading, which each reader meets behind its last item.
/// Bounds: kAheadMax items for each reader, and the one that it has.
/// Blocking: a reader waits for who reads, and for one that has kAheadMax items to take or to go,
///   so all must be there at the same time.
/// Checked by: tests/unit/jobs/shared_section_test.cc, shared_groups_test.cc.
template <typename Item>
class DealtInTurns {
 public:
  /// Reading on is some items ahead of who works on them, never the whole section.
  static constexpr std::size_t kAheadMax = 2;

  /// Reads the next item; false at the end. `item` is new, or was given back. `same_reader`: whose
  /// turn it is has the one behind as well.
  using Read = std::function<absl::StatusOr<bool>(Item& item, bool& same_reader)>;

  DealtInTurns(Read read, int num_readers)
      : read_(std::move(read)), shares_(static_cast<std::size_t>(num_readers)) {}

  /// Gives back `item` and takes the next one of the reader; false, with an empty one, at the end.
  absl::StatusOr<bool> Take(std::size_t reader, Item& item) {
    std::unique_lock lock(mutex_);
    spare_.push_back(std::exchange(item, Item()));
    Share& mine = shares_[reader];
    while (mine.items.empty()) {
      if (!error_.ok()) return error_;
      if (ended_) return false;
      if (reading_ || !HasRoom(shares_[turn_])) {
        changed_.wait(lock);
        continue;
      }
      ReadOne(lock);
    }
    item = std::move(mine.items.front());
    mine.items.pop_front();
    changed_.notify_all();
    return true;
  }

  /// Nobody waits for this reader any more.
  void Leave(std::size_t reader) {
    std::deque<Item> dropped;  // goes without the lock
    const std::lock_guard lock(mutex_);
    shares_[reader].left = true;
    dropped.swap(shares_[reader].items);
    changed_.notify_all();
  }

 private:
  struct Share {
    std::deque<Item> items;
    bool left = false;  // what is dealt to it goes nowhere
  };

  bool HasRoom(const Share& share) const { return share.left || share.items.size() < kAheadMax; }

  // Requires: the lock, which others may have meanwhile.
  void ReadOne(std::unique_lock<std::mutex>& lock) {
    reading_ = true;
    // As many go out as are dealt out, so there may be none.
    Item next{};
    if (!spare_.empty()) {
      next = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    bool same_reader = false;
    absl::StatusOr<bool> more = absl::AbortedError("reading a section has thrown");
    try {
      more = read_(next, same_reader);
    } catch (...) {
      lock.lock();
      End(more.status());
      throw;
    }
    lock.lock();
    if (!more.ok() || !*more) return End(more.status());
    reading_ = false;
    Share& share = shares_[turn_];
    if (!share.left) share.items.push_back(std::move(next));
    if (!same_reader) turn_ = (turn_ + 1) % shares_.size();
    changed_.notify_all();
  }

  // Nothing more comes: all was read, or something went wrong.
  void End(const absl::Status& why) {
    reading_ = false;
    ended_ = true;
    error_ = why;
    changed_.notify_all();
  }

  const Read read_;   // of whoever has set reading_
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Share> shares_;
  std::vector<Item> spare_;  // that were given back, used again
  std::size_t turn_ = 0;     // whose the next item is
  bool reading_ = false;
  bool ended_ = false;
  absl::Status error_;
};

}  // namespace weir
