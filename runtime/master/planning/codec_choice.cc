#include "runtime/master/planning/codec_choice.h"

#include "absl/strings/str_cat.h"

namespace weir::master {

absl::StatusOr<std::optional<planner::Codec>> ParseCodecChoice(absl::string_view name) {
  if (name.empty() || name == "auto") return std::nullopt;
  std::optional<planner::Codec> codec = planner::CodecFromName(name);
  if (codec) return codec;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown codec '", name.substr(0, 200),
                   "'; codecs are: auto (the planner decides), none, lz4, zstd"));
}

}  // namespace weir::master
