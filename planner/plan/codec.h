#pragma once

// How the bytes of runs are packed before they are stored and moved. Upstream: builders of plans.
// Downstream: planner/wire, the steps that write and read runs.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir::planner {

/// kLz4 for fast links and small cost, kZstd (level 1) for thin ones.
enum class Codec { kNone, kLz4, kZstd };

/// Returns "none", "lz4" or "zstd".
const char* CodecName(Codec codec);

/// The reverse; nothing for other names.
std::optional<Codec> CodecFromName(absl::string_view name);

/// Returns the codec of what the steps of `layer` make; layers that are not in the list pack
/// nothing.
Codec CodecOfLayer(const std::vector<Codec>& run_codec, std::int32_t layer);

}  // namespace weir::planner
