#pragma once

// Places of vectors as blocks of sections: each block says which places it holds, so that sections
// say themselves where they belong. Upstream: map and combine steps. Downstream: vector_block.h;
// combine and reduce steps, through RunSink and RunSource.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"

namespace weir {

/// What the blocks of one vector have in common.
struct VectorForm {
  std::int64_t places = 0;
  std::int64_t place_bytes = 0;
};

/// Consecutive places: values, or word that no record has touched them. Valid until the next call
/// of who gave them.
struct VectorSlice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  /// (end - begin) * place_bytes bytes; null where the places are untouched.
  const char* values = nullptr;

  std::int64_t size() const { return end - begin; }
};

/// Writes places into the sections of a run, by ranges of places.
///
/// Model: blocks of vector_block.h; those of untouched places have no values, however many they
///   are. Slices that follow one another fill blocks together.
/// Thread-safety: one thread at a time.
/// Bounds: one block.
/// Checked by: tests/unit/jobs/vector_blocks_test.cc.
class VectorWriter {
 public:
  /// `consumer_key_end`: see MapOrder; places are rounded to whole ones.
  VectorWriter(RunSink& sink, VectorForm form, absl::Span<const double> consumer_key_end);

  /// Requires: slices rise.
  absl::Status Add(const VectorSlice& slice);
  absl::Status Finish() { return Flush(); }

  /// First place behind each consumer's range.
  const std::vector<std::int64_t>& consumer_end() const { return consumer_end_; }
  std::int64_t places_written() const { return places_written_; }

 private:
  absl::Status AddToSection(const VectorSlice& slice);
  absl::Status Flush();

  RunSink& sink_;
  const VectorForm form_;
  const std::int64_t block_places_;
  std::vector<std::int64_t> consumer_end_;
  std::size_t consumer_ = 0;  // whose section is next, or begun
  bool begun_ = false;
  std::string block_;
  VectorSlice filled_;  // places of the block
  std::int64_t places_written_ = 0;
};

/// Reads one section of places. Trusts nothing.
///
/// Thread-safety: one thread at a time.
/// Errors: those of the source; kDataLoss for blocks that are not such, whose places do not rise,
/// or
///   that belong to a vector of another form.
class VectorReader {
 public:
  VectorReader(RunSource& source, VectorForm form) : source_(source), form_(form) {}

  /// Goes to the next block; false at the end.
  absl::StatusOr<bool> Next();
  /// What of the block is left.
  const VectorSlice& slice() const { return slice_; }
  /// Takes places from the front of the slice. Requires: 0 <= count <= slice().size().
  void Drop(std::int64_t count);

 private:
  RunSource& source_;
  const VectorForm form_;
  std::int64_t read_to_ = 0;
  std::vector<std::max_align_t> values_;  // copied, so that they are aligned
  VectorSlice slice_;
};

}  // namespace weir
