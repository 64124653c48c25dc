#pragma once

// When a process takes itself to have been stopped.

#include "absl/time/time.h"

namespace weir {

/// A process whose timer runs so much too late stood still: it was stopped, or its machine was.
/// Turns of its loop take milliseconds. What it counts as the silence of others it has to count
/// anew, as what came meanwhile is not heard yet.
inline constexpr absl::Duration kStandstill = absl::Seconds(1);

}  // namespace weir
