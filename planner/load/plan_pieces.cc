#include "planner/load/plan_pieces.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weir::planner::load {

namespace {

// A piece shorter than this part of the makespan is rounding. Begun at the same moment as a long
// one it could stand behind it in a port's order and hold up its other end, so its bytes go with
// the pair's other pieces, or last when it has none (plan assembly tiles every section).
constexpr double kShortestPiece = 1e-9;

}  // namespace

std::vector<PieceDraft> DraftPieces(const LayerSchedule& schedule, Seconds time_unit_s,
                                    Seconds begin_s, Seconds shortest_s) {
  const double shortest = shortest_s / time_unit_s;
  std::vector<PieceDraft> drafts;
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> last_of_pair;  // in drafts
  for (const Piece& piece : schedule.pieces) {
    const double length = piece.end - piece.begin;
    if (length <= kShortestPiece * schedule.makespan) continue;
    const auto [last, first_of_pair] =
        last_of_pair.try_emplace({piece.sender, piece.receiver}, drafts.size());
    if (!first_of_pair && std::min(length, drafts[last->second].share) < shortest) {
      drafts[last->second].share += length;
      continue;
    }
    last->second = drafts.size();
    drafts.push_back({piece.sender, piece.receiver, length, begin_s + piece.begin * time_unit_s});
  }
  return drafts;
}

std::vector<PieceDraft> DraftPairs(const LayerSchedule& schedule, Seconds time_unit_s,
                                   Seconds begin_s) {
  struct Sent {
    double time = 0;
    double moment = 0;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Sent> sent;
  for (const Piece& piece : schedule.pieces) {
    const double length = piece.end - piece.begin;
    Sent& pair = sent[{piece.sender, piece.receiver}];
    pair.time += length;
    pair.moment += length * 0.5 * (piece.begin + piece.end);
  }
  std::vector<PieceDraft> drafts;
  for (const auto& [pair, of_pair] : sent) {
    if (of_pair.time <= kShortestPiece * schedule.makespan) continue;
    const double begin = of_pair.moment / of_pair.time - 0.5 * of_pair.time;
    drafts.push_back({pair.first, pair.second, 1, begin_s + std::max(0.0, begin) * time_unit_s});
  }
  std::stable_sort(drafts.begin(), drafts.end(),
                   [](const PieceDraft& a, const PieceDraft& b) { return a.start_s < b.start_s; });
  return drafts;
}

}  // namespace weir::planner::load
