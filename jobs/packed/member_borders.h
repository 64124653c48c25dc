#pragma once

// Where a packed file may be cut: members whose sizes are known without decompressing them. Pure,
// but for the bytes that it asks for. Upstream: the master's list of inputs. Downstream: ranges of
// map steps, and of their slots.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace weir {

/// A place where a member of gzip or a frame of zstd begins, or where the file ends, and the place
/// of its first byte in the text.
struct MemberBorder {
  std::int64_t at = 0;
  std::int64_t text_at = 0;
};

/// Gives `bytes` bytes of the file from `offset` on; fewer at its end only.
using ReadPacked =
    absl::FunctionRef<absl::StatusOr<std::string>(std::int64_t offset, std::int64_t bytes)>;

/// Pieces between two borders are no smaller, packed and unpacked.
inline constexpr std::int64_t kPiecePackedBytesMin = 256 << 10;
inline constexpr std::int64_t kPieceTextBytesMin = 64 << 10;
/// And no more than this of one file.
inline constexpr std::int64_t kPiecesMax = 1024;
/// A frame with more text has so many blocks to look at that a file of one frame, which nobody can
/// share, would be looked through for nothing.
inline constexpr std::int64_t kFrameTextBytesMax = 256 << 20;

/// Borders of a gzip file all of whose members say how large they are (BGZF, as bgzip writes it):
/// from its beginning to its end, the ends included; none where a member does not, or there is but
/// one piece. `looks_left` is taken down for each look at the file, and none is had at 0.
/// Errors: those of `read`. Source: SAM specification, section 4.1; RFC 1952, section 2.3.1.
/// Checked by: tests/unit/jobs/member_borders_test.cc.
absl::StatusOr<std::vector<MemberBorder>> BgzfBorders(ReadPacked read, std::int64_t file_bytes,
                                                      std::int64_t& looks_left);

/// The same for a zstd file: by its seek table, or from frame to frame where each says how much
/// text it has, and none more than kFrameTextBytesMax.
/// Source: RFC 8878, section 3.1; zstd's contrib/seekable_format.
absl::StatusOr<std::vector<MemberBorder>> ZstdBorders(ReadPacked read, std::int64_t file_bytes,
                                                      std::int64_t& looks_left);

}  // namespace weir
