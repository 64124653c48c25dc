#pragma once

// What a finished job teaches about its kind, and how that is used. Pure.
// Upstream: JobRun (a run that ended), sampling. Downstream: PlanRequest, ShapeHistory.

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "planner/explain/explain.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"
#include "runtime/master/learning/codec_trials.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// Share of a new observation in a number that was observed before.
inline constexpr double kLearningAlpha = 0.5;
/// A number that is off by more than this factor is an outlier: named, and counted for less.
inline constexpr double kOutlierFactor = 2;
inline constexpr double kOutlierAlpha = 0.15;
/// The same for the rate of a worker, which concerns all jobs.
inline constexpr double kWorkerAlpha = 0.3;

/// Puts what is known into the shape, with its origin; what is not known stays. Numbers out of
/// range are left out.
///
/// Model: where map output has a cost of its own (B), the map rate is that of a chunk of
///   `chunk_bytes` = x: A + B y(x) / x, with y(x) the output of such a chunk; so a plan with other
///   chunks is predicted a little wrong. Where the law of the keys is known, y follows it: the
///   shape gets y at that chunk, the power by which it grows there, and what is left of all
///   mappers' output once the same keys have met.
void ApplyShape(const v1::JobShapeLearned& known, planner::Origin origin, double chunk_bytes,
                planner::JobShape& shape);

/// Returns the output of a map step that reads `chunk_bytes`, of an input of `input_bytes`, by what
/// is known; 0 where nothing is.
double MapOutputBytes(const v1::JobShapeLearned& known, double chunk_bytes, double input_bytes);

/// One run, as it was planned and as it went.
struct ObservedRun {
  const planner::Plan& plan;
  const planner::JobShape& shape;  // that the plan was made from
  const planner::ClusterProfile& cluster;
  const planner::ActualRun& actual;
  std::int64_t part_bytes = 0;  // the job's output
  const CodecTrials& codec_trials;
  /// By worker: within one of them runs are handed over, not sent. Without a name, or beyond the
  /// end: none.
  absl::Span<const std::string> handover_domains = {};
};

/// Returns the numbers of the run, mixed with those of earlier ones (`before`, null: none).
///
/// Model: overheads stay as planned, unless whole steps took less; rates are sums of seconds over
///   sums of work, times what the longest step of a layer took to the mean, because a layer is done
///   when that is; the map output is taken at the mean chunk with the growth as planned; keys are
///   weighted anew, reducer by reducer, where bytes were off by more than a tenth. Exponential
///   weights; outliers are named in the record. Where runs were packed, their sizes are taken back
///   to what they are without, and the time that packing takes by its cost is not part of the
///   rates. What was handed over says nothing of a channel.
/// Checked by: tests/unit/master/learned_shape_test.cc.
v1::JobShapeLearned LearnFrom(const ObservedRun& run, const v1::JobShapeLearned* before);

}  // namespace weir::master
