#pragma once

// What codecs made of the runs of a job, layer by layer. Pure.
// Upstream: reports of steps, of jobs and of samples. Downstream: learned shapes.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "weir/v1/journal.pb.h"
#include "weir/v1/steps.pb.h"

namespace weir::master {

/// Sums of bytes by layer and codec.
///
/// Thread-safety: none. Checked by: tests/unit/master/learned_shape_test.cc, sample_test.cc.
class CodecTrials {
 public:
  /// Takes what a step of `layer`, which packed by `codec`, reported of its run. What really was
  /// packed counts in place of a trial; by CODEC_NONE, where runs refer to records of the input.
  void Add(std::int32_t layer, v1::Codec codec, const v1::RunInfo& run);
  /// Writes the ratios of the runs of `layer` to the shape of the layer that reads them.
  void Teach(std::int32_t layer, v1::JobShapeLearned::Layer& reads) const;

 private:
  struct Sizes {
    double raw_bytes = 0;
    double packed_bytes = 0;
  };

  std::map<std::pair<std::int32_t, v1::Codec>, Sizes> sums_;
};

}  // namespace weir::master
