#pragma once

// The fixed piece of work by which workers are compared: words are found in text, hashed and
// counted, as map and combine do. Pure. Upstream: MeasureMachine. Downstream: nothing.

#include <cstdint>
#include <string>
#include <vector>

namespace weir::worker {

/// The unit worker of the planner: one slot that passes the kernel at this rate. One idle core of
/// the machine on which the jobs' default rates were taken (AMD EPYC; 561 to 568 MB/s in three
/// measurements): another value would make every default rate wrong by the same factor.
inline constexpr double kUnitKernelBytesPerS = 560e6;

/// Text and table of one slot.
///
/// Thread-safety: one thread. Time: a pass takes a millisecond or less.
/// Bounds: 256 KiB of text, 64 KiB of table: stays in the second-level cache, as the hot part of a
///   combine table does.
/// Checked by: tests/unit/worker/measure_machine_test.cc.
class ComputeKernel {
 public:
  ComputeKernel();
  /// Goes through the text once. Returns the bytes it went through.
  std::int64_t Pass();
  /// Words counted so far, so that no compiler leaves the work out.
  std::uint64_t words() const { return words_; }

 private:
  std::string text_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t words_ = 0;
};

}  // namespace weir::worker
