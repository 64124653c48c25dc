#pragma once

// From the address of a record that lies in mapped input to where it is in the file. Upstream:
// inputs that a map step keeps. Downstream: reference_sections.h.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "jobs/engine/input/kept_input.h"

namespace weir {

/// The mapped parts of the inputs that a map step keeps, by address (ADR 0063).
///
/// Thread-safety: const, any thread. Bounds: a few words for each input that is kept.
/// Checked by: tests/unit/jobs/references_test.cc.
class InputReferences {
 public:
  /// Of the inputs of all slots, which outlive this.
  explicit InputReferences(absl::Span<const KeptInputs> kept);

  /// Files as they were opened, each once.
  const std::vector<InputRange>& files() const { return files_; }

  /// A part of a file that has addresses.
  struct Mapped {
    MappedBytes bytes;
    std::size_t file = 0;  // index in files()
  };

  /// The part that has all of `bytes` bytes at an address; null where none has.
  const Mapped* Find(const char* data, std::int64_t bytes) const;

 private:
  std::vector<InputRange> files_;
  std::vector<Mapped> mapped_;  // by rising address
};

}  // namespace weir
