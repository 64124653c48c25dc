#include "runtime/reduce/frames.h"

#include <xxhash.h>

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace weir::reduce {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kMagic = 0x31525257;  // "WRR1"
constexpr std::size_t kChecksumAt = 56;

struct Packed {
  std::uint32_t magic;
  std::uint32_t kind;
  std::uint64_t call;
  std::int64_t transfer;
  std::uint64_t body_bytes;
  std::uint64_t count;
  std::uint32_t operation;
  std::uint32_t schedule;
  std::int32_t root;
  std::uint16_t call_kind;
  std::uint16_t type;
  std::uint64_t checksum;
};
static_assert(sizeof(Packed) == kFrameHeaderBytes);
static_assert(offsetof(Packed, checksum) == kChecksumAt);

std::uint64_t Checksum(const char* header, const void* body, std::size_t body_bytes) {
  const std::uint64_t seed = XXH3_64bits(header, kChecksumAt);
  return body_bytes == 0 ? seed : XXH3_64bits_withSeed(body, body_bytes, seed);
}

}  // namespace

void EncodeFrameHeader(FrameHeader header, const void* body, char* out) {
  const Signature& called = header.signature;
  Packed packed{kMagic,
                static_cast<std::uint32_t>(header.kind),
                header.call,
                header.transfer,
                header.body_bytes,
                called.count,
                called.operation,
                called.schedule,
                called.root,
                static_cast<std::uint16_t>(called.kind),
                static_cast<std::uint16_t>(called.type),
                0};
  std::memcpy(out, &packed, sizeof packed);
  packed.checksum = Checksum(out, body, header.body_bytes);
  std::memcpy(out, &packed, sizeof packed);
}

absl::StatusOr<FrameHeader> DecodeFrameHeader(const char* bytes) {
  Packed packed;
  std::memcpy(&packed, bytes, sizeof packed);
  const bool sound = packed.magic == kMagic && packed.kind >= 1 && packed.kind <= 7 &&
                     packed.call_kind >= 1 && packed.call_kind <= 3 && packed.type >= 1 &&
                     packed.type <= 3;
  if (!sound) return absl::DataLossError("what came is not a frame of a group");
  FrameHeader header;
  header.kind = static_cast<FrameKind>(packed.kind);
  if (header.kind != FrameKind::kData && packed.body_bytes > kSmallBodyBytesMax) {
    return absl::DataLossError(
        absl::StrCat("a frame of kind ", packed.kind, " names ", packed.body_bytes, " bytes"));
  }
  header.call = packed.call;
  header.transfer = packed.transfer;
  header.body_bytes = packed.body_bytes;
  header.signature = {static_cast<CallKind>(packed.call_kind),
                      static_cast<DataType>(packed.type),
                      packed.root,
                      packed.count,
                      packed.operation,
                      packed.schedule};
  header.checksum = packed.checksum;
  return header;
}

absl::Status CheckBody(const char* header_bytes, const void* body) {
  Packed packed;
  std::memcpy(&packed, header_bytes, sizeof packed);
  if (Checksum(header_bytes, body, packed.body_bytes) == packed.checksum) return absl::OkStatus();
  return absl::DataLossError("the bytes of a message do not match their checksum");
}

std::string SmallFrame(FrameHeader header, absl::string_view body) {
  body = body.substr(0, kSmallBodyBytesMax);
  header.body_bytes = body.size();
  std::string frame(kFrameHeaderBytes, '\0');
  EncodeFrameHeader(header, body.data(), frame.data());
  frame.append(body.data(), body.size());
  return frame;
}

}  // namespace weir::reduce
