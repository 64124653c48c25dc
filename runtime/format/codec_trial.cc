#include "runtime/format/codec_trial.h"

#include "runtime/format/codec.h"

namespace weir::format {

std::vector<v1::CodecTrial> CodecTrial::Run() const {
  std::vector<v1::CodecTrial> trials;
  if (bytes_.empty()) return trials;
  for (const v1::Codec codec : {v1::CODEC_LZ4, v1::CODEC_ZSTD}) {
    const std::size_t packed = BlockPacker(codec).Pack(bytes_).size();
    v1::CodecTrial& trial = trials.emplace_back();
    trial.set_codec(codec);
    trial.set_raw_bytes(static_cast<std::int64_t>(bytes_.size()));
    trial.set_packed_bytes(static_cast<std::int64_t>(packed > 0 ? packed : bytes_.size()));
  }
  return trials;
}

}  // namespace weir::format
