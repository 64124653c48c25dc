#pragma once

// Memory that pieces fill one after the other. Upstream: group_pieces.h, piece_sinks.h.

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// Texts that were used and are used again: memory of some hundred KiB that comes from the system
/// for each of them costs more than what is done with it.
///
/// Thread-safety: safe; called per block, never per record.
/// Bounds: what was in use at one time.
class SpareTexts {
 public:
  /// Returns an empty text, with room or without.
  std::string Take() {
    std::string text = TakeUsed();
    text.clear();
    return text;
  }

  /// Returns a text as it was left, for who gives it another size and writes over it: to make an
  /// empty one large clears its memory first.
  std::string TakeUsed() {
    const std::lock_guard lock(mutex_);
    if (texts_.empty()) return {};
    std::string text = std::move(texts_.back());
    texts_.pop_back();
    return text;
  }

  /// Returns a text for so many bytes, whose room is no more than twice as large.
  std::string TakeFor(std::size_t bytes) {
    std::string text = Take();
    if (text.capacity() / 2 <= bytes) return text;
    Return(std::move(text));
    return {};
  }

  /// What is too small to be worth it goes.
  void Return(std::string text) {
    if (text.capacity() < kRoomMin) return;
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
  }

 private:
  static constexpr std::size_t kRoomMin = 4 << 10;

  std::mutex mutex_;
  std::vector<std::string> texts_;  // guarded by mutex_
};

}  // namespace weir
