#pragma once

// Memory that pieces fill one after the other. Upstream: group_pieces.h, piece_sinks.h.

#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// Texts that were used and are used again: memory of some hundred KiB that comes from the system
/// for each of them costs more than what is done with it.
///
/// Thread-safety: safe; called per block, never per record.
/// Bounds: of each size, from a power of two to the next, what was in use at one time.
/// Checked by: tests/unit/jobs/spare_texts_test.cc.
class SpareTexts {
 public:
  /// Returns an empty text, with room or without.
  std::string Take() {
    std::string text = TakeUsed();
    text.clear();
    return text;
  }

  /// Returns a text as it was left, of the largest there are, for who gives it another size and
  /// writes over it: to make an empty one large clears its memory first.
  std::string TakeUsed() {
    const std::lock_guard lock(mutex_);
    for (std::size_t size = texts_.size(); size > 0; --size) {
      if (!texts_[size - 1].empty()) return TakeLast(texts_[size - 1]);
    }
    return {};
  }

  /// Returns an empty text with room for so many bytes, and no more than twice as much: one that
  /// grew would be of another size, and missing from this one the next time.
  std::string TakeFor(std::size_t bytes) {
    const auto size = static_cast<std::size_t>(std::bit_width(bytes));
    {
      const std::lock_guard lock(mutex_);
      if (!texts_[size].empty()) {
        std::string text = TakeLast(texts_[size]);
        text.clear();
        if (text.capacity() >= bytes) return text;
      }
    }
    // One for any of its size, in place of one that is too small.
    std::string text;
    text.reserve((std::size_t{1} << size) - 1);
    return text;
  }

  /// What is too small to be worth it goes.
  void Return(std::string text) {
    if (text.capacity() < kRoomMin) return;
    const std::lock_guard lock(mutex_);
    texts_[static_cast<std::size_t>(std::bit_width(text.capacity()))].push_back(std::move(text));
  }

 private:
  static constexpr std::size_t kRoomMin = 4 << 10;

  static std::string TakeLast(std::vector<std::string>& texts) {
    std::string text = std::move(texts.back());
    texts.pop_back();
    return text;
  }

  std::mutex mutex_;
  // By the bits of their room; guarded by mutex_.
  std::array<std::vector<std::string>, std::numeric_limits<std::size_t>::digits + 1> texts_;
};

}  // namespace weir
