#pragma once

// Sizes of a section. Pure. Upstream: reports of steps. Downstream: the conductor, samples.

#include <cstdint>

#include "weir/v1/steps.pb.h"

namespace weir {

/// What the section would have without packing, and with the records that it refers to.
inline std::int64_t UnpackedBytes(const v1::RunSection& section) {
  return section.unpacked_bytes() > 0 ? section.unpacked_bytes() : section.bytes();
}

}  // namespace weir
