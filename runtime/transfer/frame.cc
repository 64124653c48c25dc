#include "runtime/transfer/frame.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/format/little_endian.h"
#include "runtime/format/xxh3_stream.h"

namespace weir::transfer {
namespace {

using format::GetLittleEndian;
using format::PutLittleEndian;

constexpr std::uint32_t kMagic = 0x31445257;  // "WRD1"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kSeedBytes = 16;
// Long texts of statuses are cut, so that they fit.
constexpr std::size_t kMessageBytesMax = 2048;

struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

Bounds BoundsOf(FrameKind kind) {
  switch (kind) {
    case FrameKind::kRequest:
      return {1, limits::kDataRequestBytesMax};
    case FrameKind::kStatus:
      return {0, limits::kDataRequestBytesMax};
    case FrameKind::kData:
      return {1, limits::kBlockBytesMax};
    case FrameKind::kCredit:
      return {kCreditBodyBytes, kCreditBodyBytes};
  }
  return {};
}

std::string EncodeFrame(FrameKind kind, std::string_view body) {
  FrameHeader header{kind, static_cast<std::uint32_t>(body.size()), 0};
  header.checksum = format::Xxh3(body, FrameSeed(kind, header.body_bytes));
  std::string frame(kFrameHeaderBytes, '\0');
  EncodeFrameHeader(header, frame.data());
  frame.append(body);
  return frame;
}

}  // namespace

std::uint64_t FrameSeed(FrameKind kind, std::uint32_t body_bytes) {
  char bytes[kSeedBytes];
  PutLittleEndian(kMagic, bytes);
  PutLittleEndian(kVersion, bytes + 4);
  PutLittleEndian(static_cast<std::uint32_t>(kind), bytes + 8);
  PutLittleEndian(body_bytes, bytes + 12);
  return format::Xxh3({bytes, sizeof bytes});
}

void EncodeFrameHeader(const FrameHeader& header, char* out) {
  PutLittleEndian(kMagic, out);
  PutLittleEndian(kVersion, out + 4);
  PutLittleEndian(static_cast<std::uint32_t>(header.kind), out + 8);
  PutLittleEndian(header.body_bytes, out + 12);
  PutLittleEndian(header.checksum, out + kSeedBytes);
}

absl::StatusOr<FrameHeader> DecodeFrameHeader(std::string_view bytes) {
  if (bytes.size() != kFrameHeaderBytes) {
    return absl::DataLossError(absl::StrCat("frame header has ", bytes.size(), " bytes"));
  }
  if (GetLittleEndian<std::uint32_t>(bytes.data()) != kMagic) {
    return absl::DataLossError("these bytes are no frame of weir's data plane");
  }
  const auto version = GetLittleEndian<std::uint32_t>(bytes.data() + 4);
  if (version != kVersion) {
    return absl::DataLossError(absl::StrCat("peer speaks version ", version,
                                            " of the data plane, this is version ", kVersion));
  }
  const auto kind = GetLittleEndian<std::uint32_t>(bytes.data() + 8);
  if (kind < 1 || kind > 4) {
    return absl::DataLossError(absl::StrCat("frame has unknown kind ", kind));
  }
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.body_bytes = GetLittleEndian<std::uint32_t>(bytes.data() + 12);
  header.checksum = GetLittleEndian<std::uint64_t>(bytes.data() + kSeedBytes);
  const Bounds bounds = BoundsOf(header.kind);
  if (header.body_bytes < bounds.min || header.body_bytes > bounds.max) {
    return absl::DataLossError(absl::StrCat("frame of kind ", kind, " claims ", header.body_bytes,
                                            " bytes, legal are ", bounds.min, " to ", bounds.max));
  }
  return header;
}

absl::Status CheckBody(const FrameHeader& header, std::string_view body) {
  const std::uint64_t actual = format::Xxh3(body, FrameSeed(header.kind, header.body_bytes));
  if (actual != header.checksum) {
    return absl::DataLossError(
        absl::StrCat("frame of ", body.size(), " bytes arrived with checksum ",
                     format::Xxh3Hex(actual), ", sent was ", format::Xxh3Hex(header.checksum)));
  }
  return absl::OkStatus();
}

std::string EncodeRequest(const v1::DataRequest& request) {
  return EncodeFrame(FrameKind::kRequest, request.SerializeAsString());
}

std::string EncodeStatus(const absl::Status& status) {
  v1::DataStatus message;
  message.set_code(status.raw_code());
  message.set_message(ValidUtf8(std::string(status.message().substr(0, kMessageBytesMax))));
  return EncodeFrame(FrameKind::kStatus, message.SerializeAsString());
}

std::string EncodeCredit(std::int64_t bytes) {
  char body[kCreditBodyBytes];
  PutLittleEndian(static_cast<std::uint64_t>(bytes), body);
  return EncodeFrame(FrameKind::kCredit, {body, sizeof body});
}

absl::StatusOr<v1::DataRequest> DecodeRequest(std::string_view body) {
  v1::DataRequest request;
  if (!request.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::InvalidArgumentError("request frame holds no request");
  }
  if (request.offset() < 0 || request.bytes() <= 0 || request.credit_bytes() <= 0 ||
      request.pacing_bytes_per_s() < 0 || request.grant_ahead_bytes() < 0 ||
      request.transfer() < 0 || request.attempt() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("impossible request: offset ", request.offset(), ", bytes ", request.bytes(),
                     ", credit ", request.credit_bytes(), ", pacing ", request.pacing_bytes_per_s(),
                     ", grant-ahead ", request.grant_ahead_bytes(), ", transfer ",
                     request.transfer(), ", attempt ", request.attempt()));
  }
  return request;
}

absl::StatusOr<std::int64_t> DecodeCredit(std::string_view body) {
  if (body.size() != kCreditBodyBytes) return absl::InvalidArgumentError("credit of wrong size");
  const auto bytes = static_cast<std::int64_t>(GetLittleEndian<std::uint64_t>(body.data()));
  if (bytes <= 0) return absl::InvalidArgumentError(absl::StrCat("credit of ", bytes, " bytes"));
  return bytes;
}

absl::Status DecodeStatus(std::string_view body, absl::Status& status) {
  v1::DataStatus message;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::DataLossError("status frame holds no status");
  }
  status = absl::Status(static_cast<absl::StatusCode>(message.code()), message.message());
  return absl::OkStatus();
}

}  // namespace weir::transfer
