#include "runtime/format/block.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "runtime/format/codec.h"
#include "runtime/format/little_endian.h"
#include "runtime/format/xxh3_stream.h"

namespace weir::format {
namespace {

constexpr std::uint32_t kMagic = 0x31425257;  // "WRB1"
constexpr std::size_t kCheckedHeaderBytes = 24;

std::uint64_t Checksum(std::string_view checked_header, std::string_view stored) {
  return Xxh3(stored, Xxh3(checked_header));
}

}  // namespace

void EncodeBlockHeader(v1::Codec codec, std::string_view stored, std::int64_t raw_bytes,
                       std::int64_t records, char* out) {
  PutLittleEndian(kMagic, out);
  PutLittleEndian(static_cast<std::uint32_t>(codec), out + 4);
  PutLittleEndian(static_cast<std::uint32_t>(stored.size()), out + 8);
  PutLittleEndian(static_cast<std::uint32_t>(raw_bytes), out + 12);
  PutLittleEndian(static_cast<std::uint64_t>(records), out + 16);
  PutLittleEndian(Checksum({out, kCheckedHeaderBytes}, stored), out + kCheckedHeaderBytes);
}

absl::StatusOr<BlockHeader> DecodeBlockHeader(std::string_view header) {
  if (header.size() != static_cast<std::size_t>(kBlockHeaderBytes)) {
    return absl::DataLossError(
        absl::StrCat("block header has ", header.size(), " bytes, not ", kBlockHeaderBytes));
  }
  if (GetLittleEndian<std::uint32_t>(header.data()) != kMagic) {
    return absl::DataLossError("no block begins here: magic is not WRB1");
  }
  BlockHeader decoded;
  const auto codec = GetLittleEndian<std::uint32_t>(header.data() + 4);
  decoded.stored_bytes = GetLittleEndian<std::uint32_t>(header.data() + 8);
  decoded.raw_bytes = GetLittleEndian<std::uint32_t>(header.data() + 12);
  decoded.records = GetLittleEndian<std::uint64_t>(header.data() + 16);
  decoded.checksum = GetLittleEndian<std::uint64_t>(header.data() + kCheckedHeaderBytes);
  if (!IsKnownCodec(codec)) {
    return absl::DataLossError(absl::StrCat("block has unknown codec ", codec));
  }
  decoded.codec = static_cast<v1::Codec>(codec);
  if (decoded.stored_bytes == 0 || decoded.stored_bytes > limits::kBlockBytesMax) {
    return absl::DataLossError(absl::StrCat("block claims ", decoded.stored_bytes,
                                            " bytes, legal are 1 to ", limits::kBlockBytesMax));
  }
  const bool packed = decoded.codec != v1::CODEC_NONE;
  if (packed
          ? decoded.raw_bytes <= decoded.stored_bytes || decoded.raw_bytes > limits::kBlockBytesMax
          : decoded.raw_bytes != decoded.stored_bytes) {
    return absl::DataLossError(absl::StrCat(packed ? "packed" : "stored", " block claims ",
                                            decoded.raw_bytes, " raw bytes and holds ",
                                            decoded.stored_bytes));
  }
  if (decoded.records > static_cast<std::uint64_t>(kBlockRecordsMax)) {
    return absl::DataLossError(absl::StrCat("block claims ", decoded.records,
                                            " records, legal are 0 to ", kBlockRecordsMax));
  }
  return decoded;
}

absl::Status CheckBlock(std::string_view header, std::string_view stored) {
  const auto expected = GetLittleEndian<std::uint64_t>(header.data() + kCheckedHeaderBytes);
  const std::uint64_t actual = Checksum(header.substr(0, kCheckedHeaderBytes), stored);
  if (actual != expected) {
    return absl::DataLossError(absl::StrCat("block of ", stored.size(), " bytes has checksum ",
                                            Xxh3Hex(actual), ", written was ", Xxh3Hex(expected)));
  }
  return absl::OkStatus();
}

}  // namespace weir::format
