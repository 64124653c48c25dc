#pragma once

// Frames of the data plane: a fixed header, then a body that the header bounds and checks.
// Upstream/Downstream: DataServer and Fetcher, each of the other. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/v1/transfer.pb.h"

namespace weir::transfer {

inline constexpr std::size_t kFrameHeaderBytes = 24;
inline constexpr std::size_t kCreditBodyBytes = 8;

enum class FrameKind : std::uint32_t {
  kRequest = 1,  // receiver: v1::DataRequest
  kStatus = 2,   // sender: v1::DataStatus
  kData = 3,     // sender: 1 .. limits::kBlockBytesMax bytes of the run
  kCredit = 4,   // receiver: 8 bytes, how much more may be on the way
};

/// Header of one frame. On the wire, little-endian: magic "WRD1", version (4), kind (4), body bytes
/// (4), checksum (8).
struct FrameHeader {
  FrameKind kind = FrameKind::kRequest;
  std::uint32_t body_bytes = 0;
  /// XXH3-64 of the body, seeded with FrameSeed, so that a changed header is found as well.
  std::uint64_t checksum = 0;
};

/// Returns the seed of a body's checksum: the XXH3-64 of the header before it.
std::uint64_t FrameSeed(FrameKind kind, std::uint32_t body_bytes);

/// Writes a header to the kFrameHeaderBytes at `out`.
void EncodeFrameHeader(const FrameHeader& header, char* out);

/// Reads a header. Errors: kDataLoss saying what is not a frame: magic, version, kind, or a
/// length beyond the bounds of the kind.
absl::StatusOr<FrameHeader> DecodeFrameHeader(std::string_view bytes);

/// Compares the body with the header's checksum. Errors: kDataLoss.
absl::Status CheckBody(const FrameHeader& header, std::string_view body);

/// Returns header and body of one small frame.
std::string EncodeRequest(const v1::DataRequest& request);
std::string EncodeStatus(const absl::Status& status);
std::string EncodeCredit(std::int64_t bytes);

/// Parse the body of a frame whose checksum holds. Errors: kInvalidArgument, from the receiver's
/// side; kDataLoss, from the sender's.
absl::StatusOr<v1::DataRequest> DecodeRequest(std::string_view body);
absl::StatusOr<std::int64_t> DecodeCredit(std::string_view body);
/// Puts the status that the body carries into `status`.
absl::Status DecodeStatus(std::string_view body, absl::Status& status);

}  // namespace weir::transfer
