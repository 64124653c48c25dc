#pragma once

// Reads sorted sections of many producers as one sorted stream of groups. Upstream: sections
// written by group_buffer.h. Downstream: Reduce.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {

/// Tells the sort key of a value, both as bytes; false when the value does not decode.
using SortKeyOfValue = std::function<bool(std::string_view value, std::string& sort_key)>;

/// Merges by key; records of equal keys come in the order of their sort keys, where there is one,
/// then of the producers.
///
/// Thread-safety: one thread at a time.
/// Errors: kept in status(), after which everything is at its end.
/// Bounds: one block per producer and one key, however many values a key has.
class MergedSections {
 public:
  /// `stop()` is asked now and then; true ends the stream with kCancelled. Requires: producers that
  /// sorted by the same sort key.
  MergedSections(const std::vector<std::unique_ptr<RunSource>>& sources, std::function<bool()> stop,
                 SortKeyOfValue sort_key_of = nullptr);

  /// Goes to the next group, whatever is left of the last; false at the end.
  bool NextGroup();
  /// Key of the group; valid until the next NextGroup.
  std::string_view key() const { return key_; }
  /// Gives the next value of the group; valid until the next call.
  bool NextValue(std::string_view& value) {
    if (given_) Release();
    if (!in_group_) return false;
    value = heap_.front().producer->record.value;
    given_ = true;
    ++records_;
    return true;
  }

  const absl::Status& status() const { return status_; }
  std::int64_t records() const { return records_; }

 private:
  struct Producer {
    Producer(RunSource& source, std::size_t at) : reader(source), index(at) {}
    SectionReader reader;
    const std::size_t index;  // in the order of the producers
    SectionRecord record;
    std::uint64_t prefix = 0;  // of the key
    std::string sort_key;
  };

  // The next record of a producer; most are told apart by the prefix alone.
  struct Head {
    std::uint64_t prefix;
    Producer* producer;
  };

  bool Before(const Head& a, const Head& b) const;
  bool BeforeBehindPrefix(const Producer& a, const Producer& b) const;
  // Reads the next record of a producer; false at its end, and after an error.
  bool Read(Producer& from);
  // The same where that is not simply the next one of its block.
  bool ReadOn(Producer& from);
  void KeepKey(const Producer& of);
  // Takes the record given last out of the way, whose bytes had to stay until now, and sees whether
  // the group goes on.
  void Release();
  // Puts heap_[at], below which all is in order, where it belongs.
  void SiftDown(std::size_t at);

  std::function<bool()> stop_;
  const SortKeyOfValue sort_key_of_;
  std::deque<Producer> producers_;
  std::vector<Head> heap_;  // the first before its children, and so on
  bool given_ = false;      // the first record of the heap was given last
  bool in_group_ = false;   // it belongs to the group
  // The key of the group, whose block may go before the group ends: in one of those below it.
  std::string_view key_;
  std::array<char, 32> short_key_;
  std::string long_key_;
  std::uint64_t key_prefix_ = 0;
  absl::Status status_;
  std::int64_t records_ = 0;
};

}  // namespace weir
