#pragma once

// Frames between members. Pure. Upstream/Downstream: the other members' mesh.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/reduce/signature.h"

namespace weir::reduce {

enum class FrameKind : std::uint32_t {
  kHello = 1,     // connecting member: group, token and rank
  kData = 2,      // sender: one transfer of the plan
  kGrant = 3,     // receiver: this transfer may begin
  kInquiry = 4,   // a member that waits: what it called
  kAbort = 5,     // a member whose call failed: code in `transfer`, message as body
  kBye = 6,       // a member that leaves
  kMeasured = 7,  // at Join: what a member measured of its connections
};

inline constexpr std::size_t kFrameHeaderBytes = 64;
/// Longest body of a frame that is not data.
inline constexpr std::size_t kSmallBodyBytesMax = 4096;

/// Header of one frame. On the wire, little-endian: magic "WRR1" (4), kind (4), call (8), transfer
/// (8), body bytes (8), count (8), operation (4), schedule (4), root (4), call kind (2), type (2),
/// checksum (8).
struct FrameHeader {
  FrameKind kind = FrameKind::kData;
  /// Number of the call in the group, from 1.
  std::uint64_t call = 0;
  std::int64_t transfer = 0;
  std::uint64_t body_bytes = 0;
  Signature signature;
  /// XXH3-64 of the body, seeded with that of the header before it.
  std::uint64_t checksum = 0;
};

/// Writes a header with the checksum of `body` to the kFrameHeaderBytes at `out`.
void EncodeFrameHeader(FrameHeader header, const void* body, char* out);

/// Reads a header. Errors: kDataLoss saying what is not a frame.
absl::StatusOr<FrameHeader> DecodeFrameHeader(const char* bytes);

/// Compares a body with its header's checksum; `header_bytes` is the header as it came.
absl::Status CheckBody(const char* header_bytes, const void* body);

/// Returns header and body of one small frame.
std::string SmallFrame(FrameHeader header, absl::string_view body);

}  // namespace weir::reduce
