#pragma once

// What is on the pipes between a task and a program that speaks frames: type, length, content.
// Upstream: framed_program.h and the program's stdout. Downstream: its stdin, and columns of pairs.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "jobs/stream/frames/item.h"

namespace weir::stream {

/// A program that speaks another version refuses to work.
inline constexpr std::uint32_t kFrameProtocol = 1;
/// Longest content of a frame; one is held in memory whole.
inline constexpr std::int64_t kFrameBytesMax = 1 << 30;
/// Frames are filled up to here, where one record does not need more.
inline constexpr std::size_t kFrameFillBytes = 256 << 10;
/// Type and length in front of the content.
inline constexpr std::size_t kFrameHeadBytes = 5;

enum class FrameType : char {
  // To the program.
  kHello = 'H',   // version of the protocol (4), 'm' or 'r'
  kText = 'T',    // lines of a file: offset (8), path with its length (4), text
  kGroups = 'G',  // 1 if the first group goes on from the frame before (1), number of groups (4),
                  // number of values (4), keys, number of values of each (4), values
  kEnd = 'E',     // of the input
  // From it.
  kPairs = 'P',   // number (4), keys, values
  kResult = 'R',  // number of records (4), bytes of the output part
  kError = 'X',   // offset (8), path with its length (4), a sentence; then it exits
  kDone = 'D',    // all input was read and all output written
};

/// Appends type and length of a frame with so many bytes of content.
void AppendFrameHead(FrameType type, std::size_t bytes, std::string& out);

/// Cuts what a program writes into frames.
///
/// Bounds: one frame. Errors: kInvalidArgument where it is no frame, or too long.
/// Checked by: tests/unit/jobs/stream/frames_test.cc.
class FrameReader {
 public:
  using TakeFrame = std::function<absl::Status(FrameType type, std::string_view content)>;

  /// Adds bytes, cut anywhere, and calls `take` for each frame that they end.
  absl::Status Add(std::string_view bytes, const TakeFrame& take);
  /// Nothing of a frame has come that has not ended.
  bool at_frame_end() const { return begun_.empty(); }

 private:
  std::string begun_;
};

/// Calls take(key, value) for each pair of a kPairs frame; both in the forms of runs, valid until
/// the next call. Errors: kInvalidArgument; those of `take`.
absl::Status ForEachFramedPair(
    std::string_view content,
    const std::function<absl::Status(std::string_view key, std::string_view value)>& take);

/// Collects sorted pairs as a kGroups frame.
class GroupFrame {
 public:
  /// Adds a value of `key`, in the forms of runs.
  void Add(std::string_view key, std::string_view value);
  bool full() const { return bytes_.size() >= kFrameFillBytes; }
  bool empty() const { return values_.empty(); }
  /// Appends the frame and begins the next, which goes on with the same key if the next pair has
  /// it. Returns: false where a key or value was no item.
  bool Take(std::string& out);
  /// The key added last, for people.
  std::string_view last_key() const { return last_key_; }

 private:
  struct Place {
    std::size_t begin;
    std::size_t size;
  };
  Place Keep(std::string_view item);
  std::vector<std::string_view> ViewsOf(const std::vector<Place>& places) const;

  std::string bytes_;
  std::vector<Place> keys_;
  std::vector<Place> values_;
  std::vector<std::uint32_t> counts_;
  std::string last_key_;
  bool any_ = false;      // pair was added, ever
  bool goes_on_ = false;  // the first group of the frame
};

}  // namespace weir::stream
