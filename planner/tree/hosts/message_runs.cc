#include "planner/tree/hosts/message_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::planner::tree {

namespace {

/// What a machine holds of one segment.
struct Holding {
  std::int32_t maker = kOwnElement;
  std::int32_t num_operands = 1;  // 0 once sent
  MachineIndex lowest_operand = 0;
};

void Extend(std::vector<SegmentRun>& runs, std::int32_t maker, std::int32_t segment, bool left) {
  if (!runs.empty() && runs.back().maker == maker && runs.back().segment_end == segment &&
      runs.back().left == left) {
    ++runs.back().segment_end;
  } else {
    runs.push_back({maker, segment, segment + 1, left});
  }
}

class RunFollower {
 public:
  RunFollower(const Schedule& schedule, const std::vector<bool>& spreads)
      : schedule_(schedule),
        spreads_(spreads),
        q_(static_cast<std::int32_t>(schedule.segment_units.size())) {}

  absl::StatusOr<RunList> Follow() {
    if (absl::Status status = CheckMachines(); !status.ok()) return status;
    holds_.resize(static_cast<std::size_t>(schedule_.num_machines) * static_cast<std::size_t>(q_));
    for (MachineIndex i = 0; i < schedule_.num_machines; ++i) {
      for (std::int32_t j = 0; j < q_; ++j) At(i, j).lowest_operand = i;
    }
    for (std::size_t k = 0; k < schedule_.messages.size(); ++k) {
      if (absl::Status status = FollowOne(k); !status.ok()) return status;
    }
    for (std::int32_t j = 0; j < q_ && spreads_.empty(); ++j) {
      const Holding& result = At(schedule_.root, j);
      if (result.num_operands != schedule_.num_machines) {
        return absl::InvalidArgumentError(absl::StrCat(
            schedule_.method, ": the root, machine ", schedule_.root, ", ends with ",
            result.num_operands, " of ", schedule_.num_machines, " operands of segment ", j));
      }
      Extend(list_.results, result.maker, j, false);
    }
    return std::move(list_);
  }

 private:
  Holding& At(MachineIndex machine, std::int32_t segment) {
    return holds_[static_cast<std::size_t>(machine) * static_cast<std::size_t>(q_) +
                  static_cast<std::size_t>(segment)];
  }

  absl::Status CheckMachines() const {
    const auto exists = [&](MachineIndex i) { return i >= 0 && i < schedule_.num_machines; };
    if (q_ < 1 || !exists(schedule_.root)) {
      return absl::InvalidArgumentError(
          absl::StrCat(schedule_.method, ": has ", q_, " segments and root ", schedule_.root,
                       "; needs a segment and a root below ", schedule_.num_machines));
    }
    for (std::size_t k = 0; k < schedule_.messages.size(); ++k) {
      const Message& message = schedule_.messages[k];
      if (!exists(message.sender) || !exists(message.receiver) ||
          message.sender == message.receiver || message.segment_begin < 0 ||
          message.segment_end <= message.segment_begin ||
          message.segment_end - message.segment_begin > q_) {
        return absl::InvalidArgumentError(absl::StrCat(
            schedule_.method, ": message ", k, " from machine ", message.sender, " to ",
            message.receiver, " with segments [", message.segment_begin, ", ", message.segment_end,
            ") does not fit ", schedule_.num_machines, " machines and ", q_, " segments"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status FollowOne(std::size_t k) {
    const Message& message = schedule_.messages[k];
    MessageRuns runs;
    for (std::int32_t at = message.segment_begin; at < message.segment_end; ++at) {
      const std::int32_t segment = at % q_;
      Holding& sent = At(message.sender, segment);
      Holding& held = At(message.receiver, segment);
      if (sent.num_operands == 0) {
        return absl::InvalidArgumentError(absl::StrCat(schedule_.method, ": message ", k,
                                                       " sends segment ", segment, " from machine ",
                                                       message.sender, ", which does not hold it"));
      }
      Extend(runs.sent, sent.maker, segment, false);
      if (!spreads_.empty() && spreads_[k]) {
        held = sent;
        held.maker = static_cast<std::int32_t>(k);
        continue;
      }
      if (held.num_operands > 0) {
        Extend(runs.held, held.maker, segment, held.lowest_operand < sent.lowest_operand);
      }
      if (held.num_operands == 0 || sent.lowest_operand < held.lowest_operand) {
        held.lowest_operand = sent.lowest_operand;
      }
      held.num_operands += std::exchange(sent.num_operands, 0);
      held.maker = static_cast<std::int32_t>(k);
    }
    list_.of_message.push_back(std::move(runs));
    return absl::OkStatus();
  }

  const Schedule& schedule_;
  const std::vector<bool>& spreads_;
  std::int32_t q_;
  std::vector<Holding> holds_;
  RunList list_;
};

}  // namespace

absl::StatusOr<RunList> FollowRuns(const Schedule& schedule, const std::vector<bool>& spreads) {
  return RunFollower(schedule, spreads).Follow();
}

}  // namespace weir::planner::tree
