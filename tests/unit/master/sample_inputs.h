#pragma once

// Inputs of samples and what is read of them, for tests.

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/master/input/input_ranges.h"

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

}  // namespace weir::master
