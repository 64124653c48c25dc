#pragma once

// The unit that runs are made of: a fixed header, then at most 1 MiB of whole records. Upstream:
// run_writer.h. Downstream: run_reader.h. docs/adr/0004 says why.

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/v1/plan.pb.h"

namespace weir::format {

inline constexpr std::int64_t kBlockHeaderBytes = 32;
/// Far above what fits into a block, and small enough that totals of a run cannot overflow.
inline constexpr std::int64_t kBlockRecordsMax = std::int64_t{1} << 32;

/// Header of one block. On disk, little-endian: magic "WRB1", codec (4), stored_bytes (4),
/// raw_bytes (4), records (8), checksum (8).
struct BlockHeader {
  v1::Codec codec = v1::CODEC_NONE;
  std::uint32_t stored_bytes = 0;
  std::uint32_t raw_bytes = 0;
  std::uint64_t records = 0;
  /// XXH3-64 of the stored bytes, seeded with the XXH3-64 of the 24 bytes before it, so that a
  /// changed header is found as well.
  std::uint64_t checksum = 0;
};

/// Writes the header of a block that is stored as `stored` to the kBlockHeaderBytes at `out`.
/// Requires: 1 <= stored.size() <= raw_bytes <= limits::kBlockBytesMax, both the same without a
/// codec; records of 0 .. kBlockRecordsMax.
void EncodeBlockHeader(v1::Codec codec, std::string_view stored, std::int64_t raw_bytes,
                       std::int64_t records, char* out);

/// Reads and checks a header. Errors: kDataLoss saying which field is wrong. Never trusts a length.
absl::StatusOr<BlockHeader> DecodeBlockHeader(std::string_view header);

/// Checks the stored bytes against the header they came with. Errors: kDataLoss.
absl::Status CheckBlock(std::string_view header, std::string_view stored);

}  // namespace weir::format
