#include "runtime/master/learning/codec_trials.h"

#include "runtime/base/section_bytes.h"

namespace weir::master {

void CodecTrials::Add(std::int32_t layer, v1::Codec codec, const v1::RunInfo& run) {
  for (const v1::CodecTrial& trial : run.trials()) {
    if (trial.codec() == codec) continue;
    Sizes& sizes = sums_[{layer, trial.codec()}];
    sizes.raw_bytes += static_cast<double>(trial.raw_bytes());
    sizes.packed_bytes += static_cast<double>(trial.packed_bytes());
  }
  Sizes& sizes = sums_[{layer, codec}];
  for (const v1::RunSection& section : run.sections()) {
    sizes.raw_bytes += static_cast<double>(UnpackedBytes(section));
    sizes.packed_bytes += static_cast<double>(section.bytes());
  }
}

void CodecTrials::Teach(std::int32_t layer, v1::JobShapeLearned::Layer& reads) const {
  for (const auto& [of, sizes] : sums_) {
    if (of.first != layer || sizes.raw_bytes <= 0) continue;
    // Runs that hold all they are made of say nothing.
    if (of.second == v1::CODEC_NONE && sizes.packed_bytes >= sizes.raw_bytes) continue;
    v1::JobShapeLearned::CodecRatio& ratio = *reads.add_codecs();
    ratio.set_codec(of.second);
    ratio.set_ratio(sizes.packed_bytes / sizes.raw_bytes);
  }
}

}  // namespace weir::master
