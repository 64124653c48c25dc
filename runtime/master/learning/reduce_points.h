#pragma once

// How long reduce steps of different sizes took, over the runs of one kind of job, and the curve
// that this makes. Pure. Upstream: learned_shape. Downstream: the planner's shape of a job.

#include <optional>

#include "planner/load/growth_curve.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// Takes over what was known (null: nothing) and adds what a run showed: steps of `bytes` on
/// average took so long a byte.
///
/// Model: one point for each power of two of bytes, the mean of what was known of it and of what is
///   new; the largest kReducePointsMax of them.
void LearnReducePoint(const v1::JobShapeLearned::Layer* before, double bytes,
                      double seconds_per_byte, v1::JobShapeLearned::Layer& layer);

inline constexpr int kReducePointsMax = 16;

/// Returns the curve of the points; nothing where they do not tell one from a line.
///
/// Model: least squares of log seconds per byte over log bytes give the exponent; x log x where it
///   fits about as well. The points must be three at least, the largest kSizesApart times the
///   smallest, and seconds per byte must grow by kGrowthTelling from one to the other and by more
///   than twice what points are off the curve: else it may be the machine.
std::optional<planner::load::GrowthCurve> FitReduceGrowth(
    const v1::JobShapeLearned::Layer& learned);

inline constexpr double kSizesApart = 8;
inline constexpr double kGrowthTelling = 1.15;

}  // namespace weir::master
