#include "planner/plan/codec.h"

namespace weir::planner {

const char* CodecName(Codec codec) {
  switch (codec) {
    case Codec::kNone:
      return "none";
    case Codec::kLz4:
      return "lz4";
    case Codec::kZstd:
      return "zstd";
  }
  return "unknown";
}

std::optional<Codec> CodecFromName(absl::string_view name) {
  for (const Codec codec : {Codec::kNone, Codec::kLz4, Codec::kZstd})
    if (name == CodecName(codec)) return codec;
  return std::nullopt;
}

Codec CodecOfLayer(const std::vector<Codec>& run_codec, std::int32_t layer) {
  const auto index = static_cast<std::size_t>(layer);
  return index < run_codec.size() ? run_codec[index] : Codec::kNone;
}

}  // namespace weir::planner
