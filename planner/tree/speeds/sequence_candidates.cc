#include "planner/tree/speeds/sequence_candidates.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/tree/speeds/class_dp.h"
#include "planner/tree/speeds/sequence_search.h"
#include "planner/tree/speeds/slot_search.h"

namespace weir::planner::tree {

namespace {

/// Evaluations of the local search, and messages placed in all of them: about a second at most.
constexpr std::int64_t kSearchIterations = 2000;
constexpr std::int64_t kSearchMessages = 10'000'000;
/// Speeds up to which the class table is small enough to be built beside the others.
constexpr std::size_t kTableClassesMax = 3;
/// Pairs of table entries that may be looked at: about a second (150 senders of three speeds).
constexpr double kTablePairsMax = 3e8;
/// Senders up to which the slot search ends soon whatever their speeds are.
constexpr std::size_t kSlotSendersMax = 16;

// Turns times in starting order into sender numbers: of equal senders the lowest goes first.
std::vector<std::int32_t> SendersOf(const std::vector<Seconds>& times,
                                    const std::vector<Seconds>& ordered) {
  std::map<Seconds, std::vector<std::int32_t>> waiting;
  for (std::size_t i = times.size(); i-- > 0;) {
    waiting[times[i]].push_back(static_cast<std::int32_t>(i));
  }
  std::vector<std::int32_t> sequence;
  for (Seconds time_s : ordered) {
    std::vector<std::int32_t>& equal = waiting[time_s];
    sequence.push_back(equal.back());
    equal.pop_back();
  }
  return sequence;
}

// About how many pairs of entries the class table compares.
double TablePairs(const std::vector<std::int64_t>& counts) {
  double cells = 1;
  for (std::int64_t count : counts) cells *= static_cast<double>(count + 1);
  return counts.empty() ? 0 : cells * cells / static_cast<double>(counts.back() + 1) / 2;
}

}  // namespace

std::vector<SequenceCandidate> SequenceCandidates(const std::vector<Seconds>& times,
                                                  std::int64_t max_transfers) {
  std::vector<SequenceCandidate> candidates;
  auto add = [&](const char* name, const std::vector<Seconds>& ordered) {
    candidates.push_back({name, EarliestPossible(times, SendersOf(times, ordered), max_transfers)});
  };
  candidates.push_back({"slowest-node-first", SlowestNodeFirst(times, max_transfers)});
  const auto num_senders = static_cast<std::int64_t>(times.size());
  const std::int64_t iterations = std::min(kSearchIterations, kSearchMessages / (num_senders + 1));
  if (auto improved = ImproveSequence(times, max_transfers, iterations); improved.ok()) {
    add("local search", improved->ordered_times);
  }
  if (max_transfers != kNoTransferLimit) return candidates;
  std::map<Seconds, std::int64_t> classes;
  for (Seconds time_s : times) ++classes[time_s];
  std::vector<Seconds> class_times;
  std::vector<std::int64_t> counts;
  for (const auto& [time_s, count] : classes) {
    class_times.push_back(time_s);
    counts.push_back(count);
  }
  if (classes.size() <= kTableClassesMax && TablePairs(counts) <= kTablePairsMax) {
    if (auto table = ClassOptimumByDp(class_times, counts); table.ok()) {
      add("class table", table->ordered_times);
    }
  } else if (times.size() <= kSlotSendersMax) {
    if (auto slots = SearchSlots(times); slots.ok()) add("slot search", slots->ordered_times);
  }
  return candidates;
}

}  // namespace weir::planner::tree
