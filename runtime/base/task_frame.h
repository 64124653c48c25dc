#pragma once

// Frames on the socketpair between a worker daemon and its task process: 4 bytes of length,
// little-endian, then one protobuf message. Upstream: runtime/worker (TaskCommand). Downstream:
// runtime/task (TaskEvent).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/message_lite.h"
#include "runtime/base/limits.h"

namespace weir {

inline constexpr std::size_t kTaskFrameHeaderBytes = 4;

/// Appends `message` as one frame.
/// Errors: kResourceExhausted when it is longer than limits::kTaskFrameBytesMax; `out` is
/// unchanged.
inline absl::Status AppendTaskFrame(const google::protobuf::MessageLite& message,
                                    std::string& out) {
  const std::size_t bytes = message.ByteSizeLong();
  if (bytes > static_cast<std::size_t>(limits::kTaskFrameBytesMax)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("task frame is too long: ", message.GetTypeName(), " of ", bytes,
                     " bytes, at most ", limits::kTaskFrameBytesMax));
  }
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(bytes >> shift));
  message.AppendToString(&out);
  return absl::OkStatus();
}

/// Frames on their way out: put behind the last one, sent from the front.
/// Bounds: holds at most twice what is left, and moves each byte once on average, however small the
///   pieces are that a socket takes. The order of a step that reads half a million files has 64
///   MiB.
/// Checked by: tests/unit/base/task_frame_test.cc.
class UnsentFrames {
 public:
  /// Errors: as AppendTaskFrame.
  absl::Status Append(const google::protobuf::MessageLite& message) {
    return AppendTaskFrame(message, bytes_);
  }
  std::string_view left() const { return std::string_view(bytes_).substr(sent_); }
  /// So many of what is left are gone.
  void Sent(std::size_t bytes) {
    sent_ += bytes;
    if (2 * sent_ < bytes_.size()) return;
    moved_bytes_ += bytes_.size() - sent_;
    bytes_.erase(0, sent_);
    sent_ = 0;
  }
  void Clear() {
    bytes_.clear();
    sent_ = 0;
  }
  /// Over its whole life, to make room.
  std::size_t moved_bytes() const { return moved_bytes_; }

 private:
  std::string bytes_;
  std::size_t sent_ = 0;
  std::size_t moved_bytes_ = 0;
};

/// Cuts a byte stream into frames.
/// Bounds: keeps at most one frame of limits::kTaskFrameBytesMax plus what was last appended.
class TaskFrameReader {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }

  /// Takes the next whole frame into `message`; false when more bytes are needed.
  /// Errors: kInvalidArgument when the length is beyond the limit or the bytes are not such a
  /// message; the stream is
  ///   then of no more use.
  absl::StatusOr<bool> Next(google::protobuf::MessageLite& message) {
    const std::size_t left = buffer_.size() - taken_;
    if (left < kTaskFrameHeaderBytes) return Compact();
    std::uint32_t bytes = 0;
    for (int i = 3; i >= 0; --i) {
      bytes =
          bytes << 8 | static_cast<unsigned char>(buffer_[taken_ + static_cast<std::size_t>(i)]);
    }
    if (bytes > limits::kTaskFrameBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "task frame claims ", bytes, " bytes, at most ", limits::kTaskFrameBytesMax));
    }
    if (left < kTaskFrameHeaderBytes + bytes) return Compact();
    const char* body = buffer_.data() + taken_ + kTaskFrameHeaderBytes;
    if (!message.ParseFromArray(body, static_cast<int>(bytes))) {
      return absl::InvalidArgumentError(
          absl::StrCat("task frame of ", bytes, " bytes is no ", message.GetTypeName()));
    }
    taken_ += kTaskFrameHeaderBytes + bytes;
    return true;
  }

  /// True when the stream may end here: no half frame is left.
  bool empty() const { return taken_ == buffer_.size(); }

 private:
  bool Compact() {
    buffer_.erase(0, taken_);
    taken_ = 0;
    return false;
  }

  std::string buffer_;
  std::size_t taken_ = 0;
};

}  // namespace weir
