#pragma once

// Keys at which what is held of sorted sections becomes pieces. Upstream: group_pieces.h, which
// looks at some of the keys. Downstream: group_pieces.h, which cuts there.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// A key of a section, and the bytes that it stands for, of those that were not looked at.
struct KeyMark {
  std::string_view key;
  std::size_t bytes = 0;
};

/// Returns keys, in order, that cut what the marks stand for into pieces of at least about
/// `piece_bytes_min`: each a sixteenth of what is left, so that who takes pieces one after the
/// other ends at about the same time as the others. None where that would be one piece.
/// Thread-safety: pure.
/// Checked by: tests/unit/jobs/piece_cuts_test.cc.
std::vector<std::string> ChooseCuts(std::vector<KeyMark> marks, std::size_t piece_bytes_min);

}  // namespace weir
