#include "planner/tree/choice/start_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace weir::planner::tree {

namespace {

/// A start, and by how many messages that start then, too, what is sent came one after the other.
using Turn = std::pair<Seconds, std::int32_t>;

/// By message: its turn, after those of all messages that bring its sender what it carries.
std::vector<Turn> TurnsOf(const Schedule& schedule, bool makers_last) {
  const std::size_t num_segments = schedule.segment_units.size();
  const auto cell = [&](MachineIndex machine, std::int32_t segment) {
    return static_cast<std::size_t>(machine) * num_segments +
           static_cast<std::size_t>(segment) % num_segments;
  };
  constexpr Turn kNobody{-std::numeric_limits<double>::infinity(), 0};
  std::vector<Turn> brought(static_cast<std::size_t>(schedule.num_machines) * num_segments,
                            kNobody);
  std::vector<Turn> turns(schedule.messages.size());
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const std::size_t k = makers_last ? turns.size() - 1 - i : i;
    const Message& message = schedule.messages[k];
    Turn turn{message.start_s, 0};
    for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
      const auto [start_s, place] = brought[cell(message.sender, j)];
      turn = std::max(turn, Turn{start_s, place + 1});
    }
    for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
      Turn& at = brought[cell(message.receiver, j)];
      at = std::max(at, turn);
    }
    turns[k] = turn;
  }
  return turns;
}

}  // namespace

void SortByStart(bool makers_last, SpreadingSchedule& collective) {
  const std::vector<Turn> turns = TurnsOf(collective.schedule, makers_last);
  std::vector<std::size_t> order(turns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<Message>& messages = collective.schedule.messages;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return turns[a] < turns[b]; });
  std::vector<Message> sorted;
  std::vector<bool> spreads;
  for (const std::size_t k : order) {
    sorted.push_back(messages[k]);
    spreads.push_back(collective.spreads[k]);
  }
  collective.schedule.messages = std::move(sorted);
  collective.spreads = std::move(spreads);
}

}  // namespace weir::planner::tree
