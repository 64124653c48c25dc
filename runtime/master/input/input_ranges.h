#pragma once

// The job's input: the concatenation of its files, in listed order. Pure.
// Upstream: input_expansion lists the files. Downstream: the map steps of the plan.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/packed/member_borders.h"
#include "planner/job/job_shape.h"
#include "planner/plan/units.h"
#include "runtime/env/storage.h"
#include "weir/v1/journal.pb.h"
#include "weir/v1/steps.pb.h"

namespace weir::master {

struct InputFile {
  std::string path;
  std::int64_t bytes = 0;
  env::FileVersion version = {};
  /// Where a packed file may be cut, its ends among them; none where it cannot.
  std::vector<MemberBorder> borders = {};
};

/// All input files of one job and their total size. Empty files stay listed but take no bytes.
struct InputList {
  std::vector<InputFile> files;
  std::int64_t total_bytes = 0;
  /// What LookAtInput saw; nothing: it did not look, or could not.
  std::optional<v1::JobShapeLearned::InputLook> look = {};
};

/// What one mapper has to read alone (a packed file, or what lies between two of its borders), as
/// ranges of the concatenation.
std::vector<planner::ByteRange> UncutRanges(const InputList& input);

/// Says whether every packed file of the input is gzip and has no borders to be cut at.
bool PacksGzipWhole(const InputList& input);

/// Cuts the concatenated input into file ranges for map steps.
///
/// Thread-safety: immutable after construction. O(files) to make, O(log files + ranges) a query.
/// Checked by: tests/unit/master/input_ranges_test.cc.
class InputRanges {
 public:
  explicit InputRanges(InputList input);
  const InputList& input() const { return input_; }
  /// A number that is another one for another list, or for a file that was replaced or written to;
  /// the same for every master.
  std::uint64_t Fingerprint() const;
  /// Returns the file ranges of [begin, end) of the concatenation, in order, none of them empty. A
  /// file that is packed is cut at its borders: a cut elsewhere moves to the nearer one, or end of
  /// the file, for both neighbours alike, so that ranges that cover the input still do. Requires: 0
  /// <= begin <= end <= total_bytes.
  std::vector<v1::InputRange> Cut(planner::Bytes begin, planner::Bytes end) const;

 private:
  std::size_t FileAt(planner::Bytes position) const;
  planner::Bytes MoveToBorder(planner::Bytes cut) const;

  InputList input_;
  std::vector<std::int64_t> file_begin_;  // of each file within the concatenation
};

}  // namespace weir::master
