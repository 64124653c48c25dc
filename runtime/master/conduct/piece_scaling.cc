#include "runtime/master/conduct/piece_scaling.h"

#include "absl/numeric/int128.h"

namespace weir::master {
namespace {

planner::Bytes ScaleBorder(planner::Bytes border, planner::Bytes planned, planner::Bytes actual) {
  const absl::uint128 product =
      absl::uint128(static_cast<std::uint64_t>(border)) * static_cast<std::uint64_t>(actual);
  const absl::uint128 divisor = static_cast<std::uint64_t>(planned);
  return static_cast<planner::Bytes>(absl::Uint128Low64((product + divisor / 2) / divisor));
}

}  // namespace

Piece ScalePiece(planner::Bytes offset, planner::Bytes bytes, planner::Bytes planned_section,
                 planner::Bytes actual_section, bool is_first) {
  if (planned_section == 0) return is_first ? Piece{0, actual_section} : Piece{};
  return Piece{ScaleBorder(offset, planned_section, actual_section),
               ScaleBorder(offset + bytes, planned_section, actual_section)};
}

}  // namespace weir::master
