#pragma once

// Inputs of samples, what is read of them and what runs of it say of codecs, for tests.

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/master/input/input_ranges.h"
#include "runtime/master/sample/sample_machine.h"
#include "weir/v1/steps.pb.h"

namespace weir::master {

inline std::int64_t BytesOf(const std::vector<std::vector<v1::InputRange>>& ranges) {
  std::int64_t bytes = 0;
  for (const auto& of_worker : ranges) {
    for (const v1::InputRange& range : of_worker) bytes += range.end() - range.begin();
  }
  return bytes;
}

inline InputList Files(std::vector<InputFile> files) {
  InputList input{std::move(files), 0};
  for (const InputFile& file : input.files) input.total_bytes += file.bytes;
  return input;
}

/// One worker of one slot, and an input of a gigabyte.
inline SampleScale OneWorker(int num_layers) {
  SampleScale scale;
  scale.num_layers = num_layers;
  scale.compute_rates = {1};
  scale.slots = {1};
  scale.slots_a_core = {1};
  scale.input_bytes = 1e9;
  return scale;
}

/// What a worker says of lz4 where the order asks.
inline void TryLz4(const v1::StepOrder& order, double ratio, v1::RunInfo& run) {
  if (order.no_codec_trials()) return;
  v1::CodecTrial& trial = *run.add_trials();
  trial.set_codec(v1::CODEC_LZ4);
  trial.set_raw_bytes(1000);
  trial.set_packed_bytes(static_cast<std::int64_t>(1000 * ratio + 0.5));
}

}  // namespace weir::master
