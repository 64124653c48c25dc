// List scheduling of transfers on ports and lanes (transfer_orders.h).
// Upstream: builders that know a priority only. Downstream: plan_graph, predict.

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/cut_lanes.h"
#include "planner/plan/plan_graph.h"
#include "planner/plan/plan_structure.h"

namespace weir::planner {
namespace {

// Finishes closer together than this part of the time so far count as one moment.
constexpr double kSameMoment = 1e-12;
// Up to so many workers a table says who waits for whom.
constexpr std::size_t kWantsWorkersMax = 2000;

// Workers that stand behind the same cuts and take as many lanes of them form one class: what
// blocks one of them blocks all.
class ReceiverClasses {
 public:
  ReceiverClasses(const NetworkModel& network, const CutLanes& lanes) {
    std::map<std::pair<std::vector<bool>, std::int32_t>, std::size_t> class_of_cuts;
    for (WorkerIndex w = 0; w < network.num_workers; ++w) {
      const auto worker = static_cast<std::size_t>(w);
      std::vector<bool> behind;
      for (const Cut& cut : network.cuts) behind.push_back(cut.to[worker]);
      const auto [entry, fresh] =
          class_of_cuts.insert({{behind, lanes.OfPort(w)}, cuts_to_.size()});
      if (fresh) {
        lanes_of_.push_back(lanes.OfPort(w));
        cuts_to_.emplace_back();
        for (std::size_t cut = 0; cut < behind.size(); ++cut) {
          if (behind[cut]) cuts_to_.back().push_back(cut);
        }
      }
      class_of_.push_back(entry->second);
    }
  }

  std::size_t size() const { return cuts_to_.size(); }
  std::size_t ClassOf(WorkerIndex worker) const {
    return class_of_[static_cast<std::size_t>(worker)];
  }
  // CutLanes::OfPort of its members.
  std::int32_t LanesOf(std::size_t receiver_class) const { return lanes_of_[receiver_class]; }
  // Cuts that a transfer to a member of the class crosses if its sender stands on their other side.
  const std::vector<std::size_t>& CutsTo(std::size_t receiver_class) const {
    return cuts_to_[receiver_class];
  }

 private:
  std::vector<std::size_t> class_of_;
  std::vector<std::int32_t> lanes_of_;
  std::vector<std::vector<std::size_t>> cuts_to_;
};

// Senders likewise: what blocks one of them on the way to a class of receivers blocks all.
class SenderClasses {
 public:
  SenderClasses(const NetworkModel& network, const CutLanes& lanes) {
    std::map<std::pair<std::vector<bool>, std::int32_t>, std::size_t> class_of_cuts;
    for (WorkerIndex w = 0; w < network.num_workers; ++w) {
      std::vector<bool> behind;
      for (const Cut& cut : network.cuts) behind.push_back(cut.from[static_cast<std::size_t>(w)]);
      const auto [entry, fresh] =
          class_of_cuts.insert({{behind, lanes.OfPort(w)}, example_.size()});
      if (fresh) example_.push_back(w);
      class_of_.push_back(entry->second);
    }
  }

  std::size_t size() const { return example_.size(); }
  std::size_t ClassOf(WorkerIndex worker) const {
    return class_of_[static_cast<std::size_t>(worker)];
  }
  // A member of the class.
  WorkerIndex ExampleOf(std::size_t sender_class) const { return example_[sender_class]; }

 private:
  std::vector<std::size_t> class_of_;
  std::vector<WorkerIndex> example_;
};

bool CoversAllPairs(const Cut& cut) {
  return std::find(cut.from.begin(), cut.from.end(), false) == cut.from.end() &&
         std::find(cut.to.begin(), cut.to.end(), false) == cut.to.end();
}

class ListSchedule {
 public:
  ListSchedule(const PlanGraph& graph, Plan* plan)
      : graph_(graph),
        plan_(plan),
        lanes_(plan->network),
        classes_(plan->network, lanes_),
        sender_classes_(plan->network, lanes_) {
    const auto num_workers = static_cast<std::size_t>(plan->network.num_workers);
    waits_.assign(static_cast<std::size_t>(graph.num_nodes()), 0);
    for (NodeIndex node = 0; node < graph.num_nodes(); ++node) {
      for (const NodeIndex next : graph.Successors(node)) ++waits_[static_cast<std::size_t>(next)];
    }
    pending_.assign(num_workers, std::vector<PendingList>(classes_.size()));
    wanted_classes_.resize(num_workers);
    waiting_senders_.resize(sender_classes_.size());
    for (std::size_t a = 0; a < sender_classes_.size(); ++a) {
      const auto example = static_cast<std::size_t>(sender_classes_.ExampleOf(a));
      for (std::size_t b = 0; b < classes_.size(); ++b) {
        std::vector<std::size_t>& between = cuts_between_.emplace_back();
        for (const std::size_t cut : classes_.CutsTo(b)) {
          if (plan->network.cuts[cut].from[example]) between.push_back(cut);
        }
      }
    }
    wanted_.assign(sender_classes_.size(), std::vector<std::int64_t>(classes_.size(), 0));
    open_class_.assign(sender_classes_.size(), 0);
    wanted_from_.assign(num_workers, 0);
    freed_.resize(classes_.size());
    looked_at_.assign(num_workers, std::vector<std::size_t>(classes_.size(), 0));
    if (num_workers <= kWantsWorkersMax) wants_.assign(num_workers * num_workers, 0);
    idle_receivers_.assign(classes_.size(), 0);
    sending_.assign(num_workers, false);
    receiving_.assign(num_workers, false);
    plan->send_order.assign(num_workers, {});
    plan->receive_order.assign(num_workers, {});
    plan->channel_order.assign(plan->network.cuts.size(), {});
    free_lanes_.resize(plan->network.cuts.size());
    for (std::size_t cut = 0; cut < free_lanes_.size(); ++cut) {
      // No more than one transfer a port can ever be under way.
      const auto channels = static_cast<std::size_t>(
          std::min(plan->network.cuts[cut].channels, plan->network.num_workers));
      const std::size_t lanes = channels * static_cast<std::size_t>(lanes_.per_channel());
      for (std::size_t lane = 0; lane < lanes; ++lane) free_lanes_[cut].insert(lane);
      plan->channel_order[cut].resize(lanes);
      if (CoversAllPairs(plan->network.cuts[cut])) total_cuts_.push_back(cut);
    }
    lanes_of_.resize(plan->transfers.size());
  }

  void Run() {
    for (NodeIndex node = 0; node < graph_.num_nodes(); ++node) {
      if (waits_[static_cast<std::size_t>(node)] == 0) Ready(node);
    }
    StartTransfers();
    while (!events_.empty()) {
      const Seconds until_s = events_.top().first * (1 + kSameMoment);
      while (!events_.empty() && events_.top().first <= until_s) {
        const auto [time_s, node] = events_.top();
        events_.pop();
        now_s_ = time_s;
        Finish(node);
      }
      StartTransfers();
    }
  }

 private:
  struct PendingTransfer {
    TransferIndex index;
    WorkerIndex receiver;
    bool operator<(const PendingTransfer& other) const { return index < other.index; }
  };
  // Published, not yet started transfers of one sender to one class, by index. A tree: with few
  // workers and many pairs there are millions in it.
  using PendingList = absl::btree_set<PendingTransfer>;

  const Transfer& TransferAt(TransferIndex index) const {
    return plan_->transfers[static_cast<std::size_t>(index)];
  }

  void Ready(NodeIndex node) {
    if (!graph_.IsTransfer(node)) {
      const ComputeStep& step = plan_->steps[static_cast<std::size_t>(node)];
      events_.push({std::max(now_s_, step.release_s) + step.duration_s, node});
      return;
    }
    const PendingTransfer item{graph_.ItemOf(node), TransferAt(graph_.ItemOf(node)).receiver};
    const WorkerIndex sender = TransferAt(item.index).sender;
    LeaveWaiting(sender);
    PendingList& list = pending_[static_cast<std::size_t>(sender)][classes_.ClassOf(item.receiver)];
    if (list.empty()) {
      std::vector<std::size_t>& classes = wanted_classes_[static_cast<std::size_t>(sender)];
      const std::size_t receiver_class = classes_.ClassOf(item.receiver);
      classes.insert(std::lower_bound(classes.begin(), classes.end(), receiver_class),
                     receiver_class);
    }
    list.insert(item);
    ++wanted_[sender_classes_.ClassOf(sender)][classes_.ClassOf(item.receiver)];
    if (!wants_.empty()) {
      ++wants_[WantsAt(sender, item.receiver)];
      if (!receiving_[static_cast<std::size_t>(item.receiver)]) {
        freed_[classes_.ClassOf(item.receiver)].push_back(item.receiver);
      }
    }
    const auto receiver = static_cast<std::size_t>(item.receiver);
    if (++wanted_from_[receiver] == 1 && !receiving_[receiver]) {
      ++idle_receivers_[classes_.ClassOf(item.receiver)];
    }
    JoinWaiting(sender);
  }

  void Finish(NodeIndex node) {
    if (graph_.IsTransfer(node)) {
      const TransferIndex index = graph_.ItemOf(node);
      const Transfer& transfer = TransferAt(index);
      receiving_[static_cast<std::size_t>(transfer.receiver)] = false;
      freed_[classes_.ClassOf(transfer.receiver)].push_back(transfer.receiver);
      if (wanted_from_[static_cast<std::size_t>(transfer.receiver)] > 0) {
        ++idle_receivers_[classes_.ClassOf(transfer.receiver)];
      }
      sending_[static_cast<std::size_t>(transfer.sender)] = false;
      JoinWaiting(transfer.sender);
      for (const auto& [cut, lane] : lanes_of_[static_cast<std::size_t>(index)]) {
        free_lanes_[cut].insert(lane);
      }
    }
    for (const NodeIndex next : graph_.Successors(node)) {
      if (--waits_[static_cast<std::size_t>(next)] == 0) Ready(next);
    }
  }

  // The lowest pending index of a sender, a lower bound of what it could start next; kNoIndex when
  // nothing is pending.
  TransferIndex HeadOf(WorkerIndex sender) const {
    TransferIndex head = kNoIndex;
    for (const std::size_t receiver_class : wanted_classes_[static_cast<std::size_t>(sender)]) {
      const PendingList& list = pending_[static_cast<std::size_t>(sender)][receiver_class];
      if (head == kNoIndex || list.begin()->index < head) head = list.begin()->index;
    }
    return head;
  }

  void JoinWaiting(WorkerIndex sender) {
    const TransferIndex head = HeadOf(sender);
    if (head != kNoIndex && !sending_[static_cast<std::size_t>(sender)]) {
      waiting_senders_[sender_classes_.ClassOf(sender)].insert({head, sender});
    }
  }

  void LeaveWaiting(WorkerIndex sender) {
    waiting_senders_[sender_classes_.ClassOf(sender)].erase({HeadOf(sender), sender});
  }

  // Whether some receiver may be free that senders of the class have something for and can reach.
  // Otherwise none of them has a candidate.
  bool MayStart(std::size_t sender_class) {
    const WorkerIndex example = sender_classes_.ExampleOf(sender_class);
    const auto may = [&](std::size_t receiver_class) {
      return wanted_[sender_class][receiver_class] > 0 && idle_receivers_[receiver_class] > 0 &&
             CanReach(example, receiver_class);
    };
    // Mostly what was open is open still.
    std::size_t& open = open_class_[sender_class];
    if (may(open)) return true;
    for (std::size_t other = 0; other < classes_.size(); ++other) {
      if (other == open || !may(other)) continue;
      open = other;
      return true;
    }
    return false;
  }

  const std::vector<std::size_t>& CutsBetween(WorkerIndex sender,
                                              std::size_t receiver_class) const {
    return cuts_between_[sender_classes_.ClassOf(sender) * classes_.size() + receiver_class];
  }

  bool CanReach(WorkerIndex sender, std::size_t receiver_class) const {
    const std::vector<std::size_t>& cuts = CutsBetween(sender, receiver_class);
    const auto needed =
        static_cast<std::size_t>(std::min(lanes_.OfPort(sender), classes_.LanesOf(receiver_class)));
    return std::all_of(cuts.begin(), cuts.end(),
                       [&](std::size_t cut) { return free_lanes_[cut].size() >= needed; });
  }

  // Whether some receiver of the class has fallen free for which the sender has something, since
  // all of those were busy.
  bool SomethingFreed(WorkerIndex sender, std::size_t receiver_class) {
    if (wants_.empty()) return true;
    std::size_t& looked_at = looked_at_[static_cast<std::size_t>(sender)][receiver_class];
    const std::vector<WorkerIndex>& freed = freed_[receiver_class];
    while (looked_at < freed.size()) {
      const auto receiver = static_cast<std::size_t>(freed[looked_at]);
      if (!receiving_[receiver] && wants_[WantsAt(sender, freed[looked_at])] > 0) return true;
      ++looked_at;
    }
    return false;
  }

  // The lowest pending transfer of an idle sender that could start now; kNoIndex when none can.
  TransferIndex CandidateOf(WorkerIndex sender) {
    TransferIndex best = kNoIndex;
    const std::vector<PendingList>& lists = pending_[static_cast<std::size_t>(sender)];
    for (const std::size_t receiver_class : wanted_classes_[static_cast<std::size_t>(sender)]) {
      if (idle_receivers_[receiver_class] == 0 || !CanReach(sender, receiver_class)) continue;
      if (!SomethingFreed(sender, receiver_class)) continue;
      bool all_busy = true;
      for (const PendingTransfer& item : lists[receiver_class]) {
        const bool busy = receiving_[static_cast<std::size_t>(item.receiver)];
        all_busy = all_busy && busy;
        if (best != kNoIndex && item.index > best) {
          all_busy = false;  // not known
          break;
        }
        if (busy) continue;
        best = item.index;
        break;
      }
      if (all_busy && !wants_.empty()) {
        looked_at_[static_cast<std::size_t>(sender)][receiver_class] =
            freed_[receiver_class].size();
      }
    }
    return best;
  }

  std::size_t WantsAt(WorkerIndex sender, WorkerIndex receiver) const {
    return static_cast<std::size_t>(sender) * sending_.size() + static_cast<std::size_t>(receiver);
  }

  bool CanStart(TransferIndex index) const {
    const Transfer& transfer = TransferAt(index);
    return !receiving_[static_cast<std::size_t>(transfer.receiver)] &&
           CanReach(transfer.sender, classes_.ClassOf(transfer.receiver));
  }

  // Whether a cut between all pairs has no room left for any transfer: then nothing can start.
  bool NetworkIsFull() const {
    const auto least = static_cast<std::size_t>(lanes_.least_taken());
    return std::any_of(total_cuts_.begin(), total_cuts_.end(),
                       [&](std::size_t cut) { return free_lanes_[cut].size() < least; });
  }

  // Starts, lowest index first, all that can start at this moment. Starting only takes resources
  // away, so a sender or a class without a candidate stays without one, and candidates only move to
  // higher indices.
  void StartTransfers() {
    using Candidate = std::pair<TransferIndex, WorkerIndex>;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    // Senders that were not asked yet, by class, in the order of their heads.
    using Waiting = std::set<std::pair<TransferIndex, WorkerIndex>>::const_iterator;
    using NextOfClass = std::pair<std::pair<TransferIndex, WorkerIndex>, std::size_t>;
    std::priority_queue<NextOfClass, std::vector<NextOfClass>, std::greater<>> next_senders;
    std::vector<Waiting> next_of(waiting_senders_.size());
    for (std::size_t c = 0; c < waiting_senders_.size(); ++c) {
      next_of[c] = waiting_senders_[c].begin();
      if (next_of[c] != waiting_senders_[c].end()) next_senders.push({*next_of[c], c});
    }
    std::vector<TransferIndex> started;
    while (!NetworkIsFull()) {
      while (!next_senders.empty() &&
             (candidates.empty() || next_senders.top().first.first < candidates.top().first)) {
        const auto [next, sender_class] = next_senders.top();
        next_senders.pop();
        if (!MayStart(sender_class)) continue;
        if (++next_of[sender_class] != waiting_senders_[sender_class].end()) {
          next_senders.push({*next_of[sender_class], sender_class});
        }
        const TransferIndex candidate = CandidateOf(next.second);
        if (candidate != kNoIndex) candidates.push({candidate, next.second});
      }
      if (candidates.empty()) break;
      const auto [index, sender] = candidates.top();
      candidates.pop();
      if (CanStart(index)) {
        Occupy(index);
        started.push_back(index);
      } else if (const TransferIndex other = CandidateOf(sender); other != kNoIndex) {
        candidates.push({other, sender});
      }
    }
    for (const TransferIndex index : started) Remove(index);
  }

  void Occupy(TransferIndex index) {
    const Transfer& transfer = TransferAt(index);
    sending_[static_cast<std::size_t>(transfer.sender)] = true;
    receiving_[static_cast<std::size_t>(transfer.receiver)] = true;
    --idle_receivers_[classes_.ClassOf(transfer.receiver)];
    plan_->send_order[static_cast<std::size_t>(transfer.sender)].push_back(index);
    plan_->receive_order[static_cast<std::size_t>(transfer.receiver)].push_back(index);
    for (const std::size_t cut :
         CutsBetween(transfer.sender, classes_.ClassOf(transfer.receiver))) {
      for (std::int32_t i = 0; i < lanes_.Taken(transfer.sender, transfer.receiver); ++i) {
        const std::size_t lane = *free_lanes_[cut].begin();
        free_lanes_[cut].erase(free_lanes_[cut].begin());
        lanes_of_[static_cast<std::size_t>(index)].push_back({cut, lane});
        plan_->channel_order[cut][lane].push_back(index);
      }
    }
    const Seconds lasts_s =
        plan_->network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
    events_.push({now_s_ + lasts_s, graph_.NodeOfTransfer(index)});
  }

  void Remove(TransferIndex index) {
    const Transfer& transfer = TransferAt(index);
    LeaveWaiting(transfer.sender);
    --wanted_[sender_classes_.ClassOf(transfer.sender)][classes_.ClassOf(transfer.receiver)];
    --wanted_from_[static_cast<std::size_t>(transfer.receiver)];
    if (!wants_.empty()) --wants_[WantsAt(transfer.sender, transfer.receiver)];
    PendingList& list =
        pending_[static_cast<std::size_t>(transfer.sender)][classes_.ClassOf(transfer.receiver)];
    list.erase({index, transfer.receiver});
    if (list.empty()) {
      std::erase(wanted_classes_[static_cast<std::size_t>(transfer.sender)],
                 classes_.ClassOf(transfer.receiver));
    }
  }

  const PlanGraph& graph_;
  Plan* plan_;
  const CutLanes lanes_;
  const ReceiverClasses classes_;
  const SenderClasses sender_classes_;
  std::vector<std::vector<std::size_t>> cuts_between_;  // by class of senders and of receivers
  std::vector<std::int32_t> waits_;
  std::vector<std::vector<PendingList>> pending_;         // by sender and class
  std::vector<std::vector<std::size_t>> wanted_classes_;  // by sender: those with something pending
  std::vector<bool> sending_;
  std::vector<bool> receiving_;
  std::vector<std::set<std::size_t>> free_lanes_;  // by cut
  std::vector<std::size_t> total_cuts_;            // cuts between all pairs
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> lanes_of_;  // (cut, lane)
  // Idle senders with something pending, by class and head.
  std::vector<std::set<std::pair<TransferIndex, WorkerIndex>>> waiting_senders_;
  std::vector<std::vector<std::int64_t>> wanted_;  // by class of senders, of receivers: pending
  std::vector<std::size_t> open_class_;            // by class of senders: reached last
  std::vector<std::int64_t> wanted_from_;          // by receiver: pending
  std::vector<std::int64_t> idle_receivers_;       // by class: idle, with something pending
  std::vector<std::int32_t> wants_;                // by sender and receiver: pending
  std::vector<std::vector<WorkerIndex>> freed_;    // by class: receivers, as they fell free
  // By sender and class: the part of freed_ that had nothing for it when it was looked at.
  std::vector<std::vector<std::size_t>> looked_at_;
  // Finishes to come; equal times by node.
  std::priority_queue<std::pair<Seconds, NodeIndex>, std::vector<std::pair<Seconds, NodeIndex>>,
                      std::greater<>>
      events_;
  Seconds now_s_ = 0;
};

}  // namespace

absl::Status OrderByPriority(Plan* plan) {
  if (absl::Status status = CheckItems(*plan); !status.ok()) return status;
  const absl::StatusOr<PlanGraph> graph = PlanGraph::Build(*plan, GraphRules::kDataOnly);
  if (!graph.ok()) return graph.status();
  ListSchedule(*graph, plan).Run();
  return AdoptPrediction(plan);
}

}  // namespace weir::planner
