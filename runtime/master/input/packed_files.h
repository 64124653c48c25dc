#pragma once

// Which packed files of a job may be cut. Upstream: ExpandInputs. Downstream: InputRanges.

#include "runtime/env/storage.h"
#include "runtime/master/input/input_ranges.h"

namespace weir::master {

/// A file that has less than this part of the input is not looked into: it can be given to a mapper
/// whole.
inline constexpr std::int64_t kFilesShared = 256;
/// Looks at the headers of members, of all files together: some microseconds each where the file is
/// in memory.
inline constexpr std::int64_t kHeaderLooksMax = 256'000;

/// Finds the borders of packed files that say where their members begin. What cannot be read here,
/// or is damaged, has none: who reads the file says what is wrong with it.
/// Blocking: up to kHeaderLooksMax reads. Thread-safety: as storage.
/// Checked by: tests/unit/master/input_ranges_test.cc.
void FindBorders(env::Storage& storage, InputList& input);

}  // namespace weir::master
