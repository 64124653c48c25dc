#pragma once

// Where one record ends and the next begins, as readers ask for it. Upstream: readers.h.
// Downstream: the engine, which cuts files into blocks of whole records.

#include <cstdint>
#include <string_view>

namespace weir {

/// Each record ends with one of these bytes; the first is added at the end of a file without one.
struct DelimitedBy {
  std::string_view bytes;
};

/// Each record has this many bytes, counted from the beginning of the file.
struct FixedSize {
  std::int64_t bytes;
};

}  // namespace weir
