#include "runtime/format/codec.h"

#include <lz4.h>
#include <zstd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::format {
namespace {

constexpr int kZstdLevel = 1;

std::size_t PackedBytesMax(v1::Codec codec, std::size_t bytes) {
  if (codec == v1::CODEC_LZ4)
    return static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(bytes)));
  return ZSTD_compressBound(bytes);
}

}  // namespace

struct BlockPacker::State {
  // Kept from block to block: making it anew would cost as much as a small block.
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd{nullptr, &ZSTD_freeCCtx};
};

bool IsKnownCodec(std::uint32_t codec) {
  return codec == v1::CODEC_NONE || codec == v1::CODEC_LZ4 || codec == v1::CODEC_ZSTD;
}

BlockPacker::BlockPacker(v1::Codec codec) : codec_(codec), state_(std::make_unique<State>()) {
  if (codec == v1::CODEC_ZSTD) state_->zstd.reset(ZSTD_createCCtx());
}

BlockPacker::~BlockPacker() = default;
BlockPacker::BlockPacker(BlockPacker&&) noexcept = default;

std::string_view BlockPacker::Pack(std::string_view block) {
  if (codec_ == v1::CODEC_NONE) return {};
  const std::size_t bytes_max = PackedBytesMax(codec_, block.size());
  if (packed_.size() < bytes_max) packed_.resize(bytes_max);
  std::size_t packed_bytes = 0;
  if (codec_ == v1::CODEC_LZ4) {
    packed_bytes = static_cast<std::size_t>(LZ4_compress_default(block.data(), packed_.data(),
                                                                 static_cast<int>(block.size()),
                                                                 static_cast<int>(packed_.size())));
  } else if (codec_ == v1::CODEC_ZSTD && state_->zstd != nullptr) {
    const std::size_t made = ZSTD_compressCCtx(state_->zstd.get(), packed_.data(), packed_.size(),
                                               block.data(), block.size(), kZstdLevel);
    packed_bytes = ZSTD_isError(made) != 0 ? 0 : made;
  }
  const double most = (1 - kLeastSaving) * static_cast<double>(block.size());
  // 0: not packed. A block that cannot be packed is stored as it is.
  if (packed_bytes == 0 || static_cast<double>(packed_bytes) > most) return {};
  return {packed_.data(), packed_bytes};
}

absl::Status UnpackBlock(v1::Codec codec, std::string_view packed, char* raw,
                         std::int64_t raw_bytes) {
  std::int64_t made = -1;
  if (codec == v1::CODEC_LZ4) {
    made = LZ4_decompress_safe(packed.data(), raw, static_cast<int>(packed.size()),
                               static_cast<int>(raw_bytes));
  } else if (codec == v1::CODEC_ZSTD) {
    const std::size_t n =
        ZSTD_decompress(raw, static_cast<std::size_t>(raw_bytes), packed.data(), packed.size());
    if (ZSTD_isError(n) == 0) made = static_cast<std::int64_t>(n);
  }
  if (made == raw_bytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("block of ", packed.size(), " bytes does not unpack to ",
                                          raw_bytes, " bytes by codec ", v1::Codec_Name(codec)));
}

}  // namespace weir::format
