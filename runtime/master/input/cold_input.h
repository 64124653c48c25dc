#pragma once

// How long the disk of an input takes that is not in memory. Upstream: Planning, JobRun, for a plan
// of a large input. Downstream: env::Storage.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/env/event_loop.h"
#include "runtime/env/storage.h"
#include "runtime/master/input/input_ranges.h"

namespace weir::master {

/// Input, bytes, for which it is worth to ask whether it is in memory: a disk that reads a gigabyte
/// in a second takes a quarter of one for it, five times what asking and reading may take.
inline constexpr std::int64_t kAskedInputBytes = 256'000'000;
/// Places that are asked for, as far apart as they can be: as few as make the part that is not in
/// memory known within a few hundredths, where that lies in several pieces.
inline constexpr int kAskedPlaces = 256;

/// Places of one file of an input.
struct FilePlaces {
  std::string path;
  std::int64_t file_bytes = 0;
  std::vector<std::int64_t> offsets;  // rising
};

/// Returns kAskedPlaces places of the input, evenly by bytes; none of an input smaller than
/// kAskedInputBytes. `seed` says where the first one is: asking may bring a place into memory, so
/// that the same ones would tell nothing of the rest the next time. Pure.
std::vector<FilePlaces> PlacesToAsk(const InputList& input, std::uint64_t seed);

/// Returns the seconds per byte of input for which whoever reads it waits for its disk: the part of
/// the places that is not in memory, times what the disk takes for a byte in order. 0 where no more
/// than a tenth of them is missing, or that cannot be told.
///
/// Reads some megabytes in order at some places that are missing, and once more, which says what is
/// not the disk's. Of packed files bytes are the file's. Bounds: 16 MiB of the input, each twice;
/// begins nothing 50 ms after the first of it, nor where asking took as long. Leaves nothing.
/// Thread-safety: as `storage`; blocks. `clock` is asked for the time only.
/// Checked by: tests/unit/master/cold_input_test.cc.
double MeasureColdReadSeconds(env::Storage& storage, const env::EventLoop& clock,
                              absl::Span<const FilePlaces> files);

}  // namespace weir::master
