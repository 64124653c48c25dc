#pragma once

// The header of a zstd frame. Upstream: the first bytes of a frame. Downstream: ZstdInput.

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

/// What the first bytes of a frame say.
struct ZstdFrame {
  std::int64_t header_bytes = 0;
  /// Skippable: the text of the file has nothing of it, and this many bytes follow the header.
  bool skippable = false;
  std::int64_t skipped_bytes = 0;
  /// How far the frame refers back; what a decoder must hold, unless all of its text is smaller.
  std::int64_t window_bytes = 0;
  /// Bytes of text, where the frame says so.
  std::optional<std::int64_t> text_bytes;
  bool has_checksum = false;  // four bytes behind the last block
};

/// Longest header of a frame.
inline constexpr std::int64_t kZstdHeaderBytesMax = 18;

/// Reads the header of the frame that `bytes` begins with; nothing where it is none, or cut short.
/// Sizes beyond 2^62 count as that. Thread-safety: pure.
/// Source: RFC 8878, section 3.1. Checked by: tests/unit/jobs/zstd_input_test.cc.
std::optional<ZstdFrame> ParseZstdFrame(std::string_view bytes);

}  // namespace weir
