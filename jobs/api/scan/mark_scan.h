#pragma once

// Finds where fields, rows and words end in text, with the widest instructions that this processor
// has. Upstream: TextBlock. Downstream: readers.h, jobs that parse blocks.

#include <cstdint>

#include "jobs/api/scan/byte_scan.h"

namespace weir {

// All of these write places in text[0, bytes), counted from `base`, in order, and return the end of
// what they wrote. Requires: kBlockSlackBytes readable behind the text, and room for bytes +
// kPositionSlack places. Thread-safety: any. Checked by: tests/unit/jobs/mark_scan_test.cc.

/// Writes where text[i] is `a` or `b`.
std::uint32_t* FindEither(const char* text, std::int64_t bytes, char a, char b, std::uint32_t base,
                          std::uint32_t* places);

/// Writes where text[i] is `mark`, counted from `text`. For marks that are some dozen bytes apart,
/// as ends of rows are: of many FindEither makes less work.
std::uint32_t* FindSparse(const char* text, std::int64_t bytes, char mark, std::uint32_t* places);

/// Writes where fields end, at `field_end` or, the last one of a row, at `row_end`, counted from
/// `text`; and to `rows`, which has as much room, how many fields end up to the end of each row.
/// Ends at some place that has `stop` neither before it nor more than 64 bytes behind it. Returns
/// the end of what it wrote to `rows`: fields of a row that does not end are none.
std::uint32_t* FindFieldsBefore(const char* text, std::int64_t bytes, char field_end, char row_end,
                                char stop, std::uint32_t* places, std::uint32_t* rows);

/// Writes where words begin and end in turn, words being what ASCII white space parts. `in_word`
/// says whether one is under way, before and after; none is where bytes is no multiple of 64.
std::uint32_t* FindWordEdges(const char* text, std::int64_t bytes, std::uint32_t base,
                             bool& in_word, std::uint32_t* places);

/// What these use.
enum class ScanInstructions {
  kAny,     // what all processors have
  kAvx2,    // x86-64-v3
  kAvx512,  // with VBMI2, which packs bytes
};

/// Returns what this processor has and the C library may use (GLIBC_TUNABLES takes from it).
ScanInstructions BestScanInstructions();

/// Makes all three use others, for tests. Requires: this processor has them; no other thread scans.
void UseScanInstructions(ScanInstructions instructions);

}  // namespace weir
