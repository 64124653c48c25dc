#include "planner/order/slack_dispatch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "planner/order/unevenness.h"
#include "planner/plan/cut_lanes.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

// Moments closer together than this part of the time so far count as one.
constexpr double kSameMoment = 1e-12;
// Dispatching costs about this much a transfer, and a worker that may be looked at for it.
constexpr std::int64_t kWorkPerTransfer = 1000;
constexpr std::int64_t kWorkPerWorker = 8;

/// A port, or the lanes of a cut: what is left for it to do, and when it ends at the earliest.
class Resource {
 public:
  explicit Resource(double capacity = 1) : capacity_(capacity) {}

  /// Adds what is there at `ready_s` to do; in any order, before the first Release.
  void Add(Seconds ready_s, double volume_s) {
    releases_.push_back({ready_s, volume_s});
    left_s_ += volume_s / capacity_;
  }
  void FollowedBy(Seconds tail_s) { tail_s_ = std::max(tail_s_, tail_s); }
  /// To be called once, after the last Add.
  void Sort() {
    std::sort(releases_.begin(), releases_.end());
    std::size_t kept = 0;
    for (std::size_t i = 1; i < releases_.size(); ++i) {
      if (releases_[i].first == releases_[kept].first) {
        releases_[kept].second += releases_[i].second;
      } else {
        releases_[++kept] = releases_[i];
      }
    }
    if (!releases_.empty()) releases_.resize(kept + 1);
    // From here on: what a release and all later ones need, if they are not held up.
    Seconds volume_s = 0, end_s = 0;
    for (auto release = releases_.rbegin(); release != releases_.rend(); ++release) {
      volume_s += release->second / capacity_;
      end_s = std::max(end_s, release->first + volume_s);
      release->second = end_s;
    }
  }

  /// Something of that volume runs from now to `end_s`.
  void Begin(double volume_s, Seconds end_s, double takes) {
    left_s_ -= volume_s / capacity_;
    running_ += takes / capacity_;
    ends_ += end_s * takes / capacity_;
  }
  void End(Seconds end_s, double takes) {
    running_ -= takes / capacity_;
    ends_ -= end_s * takes / capacity_;
  }

  /// When it ends at the earliest if it works from now on, what follows included.
  Seconds EndAt(Seconds now_s) {
    while (next_ < releases_.size() && releases_[next_].first <= now_s * (1 + kSameMoment)) ++next_;
    const Seconds under_way_s = std::max(0.0, ends_ - running_ * now_s);
    Seconds end_s = now_s + under_way_s + std::max(0.0, left_s_);
    if (next_ < releases_.size()) end_s = std::max(end_s, releases_[next_].second);
    return end_s + tail_s_;
  }

 private:
  double capacity_;
  Seconds left_s_ = 0;  // not begun
  Seconds tail_s_ = 0;
  double running_ = 0, ends_ = 0;  // part of it in use; sum of the ends by part
  std::vector<std::pair<Seconds, Seconds>> releases_;
  std::size_t next_ = 0;  // first release that is still to come
};

/// Senders, or receivers; by worker unless something else is said.
struct Side {
  std::vector<Resource> resource;
  std::vector<std::size_t> class_of;
  std::vector<WorkerIndex> example;   // by class
  std::vector<std::int32_t> waiting;  // transfers that are there and have not begun
  std::vector<char> busy;             // as bool
  std::vector<std::int64_t> since;    // decision from which on it is worth a look
  std::vector<double> noise;          // factor of its weight
  std::vector<double> weight;         // as of the decision `weighed`
  std::vector<std::int64_t> weighed;
  std::vector<Seconds> key;  // time that it needed when it fell idle
  // By class: idle ports that have something to do, by falling key.
  std::vector<std::vector<WorkerIndex>> idle;
};

class Dispatch {
 public:
  Dispatch(const Plan& plan, std::vector<TransferIndex> transfers,
           const std::vector<Seconds>& step_finish_s, const SlackTuning& tuning)
      : plan_(plan),
        network_(plan.network),
        lanes_(plan.network),
        transfers_(std::move(transfers)),
        tuning_(tuning),
        workers_(At(plan.network.num_workers)) {
    Classify(&Cut::from, senders_);
    Classify(&Cut::to, receivers_);
    for (const Cut& cut : network_.cuts) {
      cuts_.emplace_back(static_cast<double>(lanes_.Of(cut)));
      free_lanes_.push_back(lanes_.Of(cut));
    }
    FindCrossings();
    for (std::size_t i = 0; i < transfers_.size(); ++i) AddTransfer(i, step_finish_s);
    for (Side* side : {&senders_, &receivers_}) {
      for (Resource& resource : side->resource) resource.Sort();
    }
    for (Resource& cut : cuts_) cut.Sort();
    std::sort(releases_.begin(), releases_.end());
    first_.assign(workers_ * workers_, -1);
    next_.assign(transfers_.size(), -1);
  }

  SlackSchedule Run() {
    if (transfers_.empty()) return {};
    now_s_ = releases_[0].first;
    bound_s_ = now_s_;
    for (Side* side : {&senders_, &receivers_}) {
      for (Resource& resource : side->resource) {
        bound_s_ = std::max(bound_s_, resource.EndAt(now_s_));
      }
    }
    for (Resource& cut : cuts_) bound_s_ = std::max(bound_s_, cut.EndAt(now_s_));
    scale_s_ = tuning_.scale * std::max(bound_s_ - now_s_, 1e-12);
    std::size_t released = 0;
    while (released < releases_.size() || !running_.empty()) {
      now_s_ = std::numeric_limits<Seconds>::infinity();
      if (released < releases_.size()) now_s_ = releases_[released].first;
      if (!running_.empty()) now_s_ = std::min(now_s_, running_.top().first);
      const Seconds until_s = now_s_ * (1 + kSameMoment);
      ++decision_;
      while (!running_.empty() && running_.top().first <= until_s) {
        End(running_.top().second);
        running_.pop();
      }
      for (; released < releases_.size() && releases_[released].first <= until_s; ++released) {
        Release(releases_[released].second);
      }
      Decide();
    }
    return {std::move(pieces_), work_};
  }

 private:
  /// What a pair of classes crosses, and what is known of it.
  struct ClassPair {
    std::vector<std::size_t> cuts;
    std::int32_t lanes = 0;    // taken of each
    std::int64_t barren = -1;  // ports idle since then or longer have nothing for each other
    std::int64_t listed = -1;  // decision for which it is in dirty_
    double urgency = 0;        // of its cuts
    double weight = -1;        // of the best pair found; negative: none
    WorkerIndex sender = 0, receiver = 0;
  };

  /// A pair of classes for which something has changed.
  struct ChangedPair {
    ClassPair* pair = nullptr;
    std::size_t sender_class = 0, receiver_class = 0;
  };
  /// The most urgent first; of equal ones the one that changed first.
  static bool LessUrgent(const std::pair<double, std::size_t>& a,
                         const std::pair<double, std::size_t>& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  }

  ClassPair& PairOf(std::size_t sender_class, std::size_t receiver_class) {
    return pairs_[sender_class * receivers_.example.size() + receiver_class];
  }
  std::size_t PlaceOf(WorkerIndex sender, WorkerIndex receiver) const {
    return At(sender) * workers_ + At(receiver);
  }
  const Transfer& TransferAt(std::size_t i) const { return plan_.transfers[At(transfers_[i])]; }

  void Classify(std::vector<bool> Cut::*behind, Side& side) {
    std::map<std::pair<std::vector<bool>, std::int32_t>, std::size_t> classes;
    for (WorkerIndex w = 0; w < network_.num_workers; ++w) {
      std::vector<bool> cuts;
      for (const Cut& cut : network_.cuts) cuts.push_back((cut.*behind)[At(w)]);
      const auto [entry, fresh] = classes.insert({{cuts, lanes_.OfPort(w)}, classes.size()});
      if (fresh) side.example.push_back(w);
      side.class_of.push_back(entry->second);
      const std::size_t number = 2 * At(w) + (&side == &senders_ ? 0 : 1);
      side.noise.push_back(1 + tuning_.noise * Unevenness(tuning_.seed, number));
    }
    side.resource.resize(workers_);
    side.waiting.assign(workers_, 0);
    side.busy.assign(workers_, 0);
    side.since.assign(workers_, 0);
    side.weight.assign(workers_, 0);
    side.weighed.assign(workers_, -1);
    side.key.assign(workers_, 0);
    side.idle.resize(classes.size());
  }

  void FindCrossings() {
    pairs_.resize(senders_.example.size() * receivers_.example.size());
    across_.resize(cuts_.size());
    for (std::size_t a = 0; a < senders_.example.size(); ++a) {
      for (std::size_t b = 0; b < receivers_.example.size(); ++b) {
        ClassPair& pair = PairOf(a, b);
        const WorkerIndex sender = senders_.example[a], receiver = receivers_.example[b];
        pair.lanes = lanes_.Taken(sender, receiver);
        for (std::size_t cut = 0; cut < cuts_.size(); ++cut) {
          if (!network_.cuts[cut].from[At(sender)] || !network_.cuts[cut].to[At(receiver)])
            continue;
          pair.cuts.push_back(cut);
          across_[cut].push_back({a, b});
        }
      }
    }
  }

  void AddTransfer(std::size_t i, const std::vector<Seconds>& step_finish_s) {
    const Transfer& transfer = TransferAt(i);
    const Seconds ready_s = step_finish_s[At(transfer.producer)];
    const Seconds lasts_s =
        network_.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
    releases_.push_back({ready_s, i});
    lasts_s_.push_back(lasts_s);
    senders_.resource[At(transfer.sender)].Add(ready_s, lasts_s);
    Resource& receiver = receivers_.resource[At(transfer.receiver)];
    receiver.Add(ready_s, lasts_s);
    receiver.FollowedBy(plan_.steps[At(transfer.consumer)].duration_s);
    const ClassPair& pair = PairFor(transfer);
    for (const std::size_t cut : pair.cuts) cuts_[cut].Add(ready_s, lasts_s * pair.lanes);
  }

  ClassPair& PairFor(const Transfer& transfer) {
    return PairOf(senders_.class_of[At(transfer.sender)],
                  receivers_.class_of[At(transfer.receiver)]);
  }

  void List(std::size_t a, std::size_t b) {
    ClassPair& pair = PairOf(a, b);
    if (pair.listed == decision_) return;
    pair.listed = decision_;
    dirty_.push_back({&pair, a, b});
  }

  /// The port may have something to do that it had not before.
  void Look(Side& side, WorkerIndex worker) {
    side.since[At(worker)] = decision_;
    if (side.busy[At(worker)] != 0 || side.waiting[At(worker)] == 0) return;
    Seconds& key = side.key[At(worker)];
    std::vector<WorkerIndex>& idle = side.idle[side.class_of[At(worker)]];
    const auto before = [&side](WorkerIndex a, WorkerIndex b) {
      return side.key[At(a)] != side.key[At(b)] ? side.key[At(a)] > side.key[At(b)] : a < b;
    };
    if (const auto place = std::lower_bound(idle.begin(), idle.end(), worker, before);
        place != idle.end() && *place == worker) {
      idle.erase(place);
    }
    key = side.resource[At(worker)].EndAt(now_s_) - now_s_;
    idle.insert(std::lower_bound(idle.begin(), idle.end(), worker, before), worker);
    const std::size_t own = side.class_of[At(worker)];
    const bool sends = &side == &senders_;
    const std::size_t others = (sends ? receivers_ : senders_).example.size();
    for (std::size_t other = 0; other < others; ++other) {
      sends ? List(own, other) : List(other, own);
    }
  }

  void LeaveIdle(Side& side, WorkerIndex worker) {
    std::vector<WorkerIndex>& idle = side.idle[side.class_of[At(worker)]];
    idle.erase(std::find(idle.begin(), idle.end(), worker));
  }

  void Release(std::size_t i) {
    const Transfer& transfer = TransferAt(i);
    std::int32_t& first = first_[PlaceOf(transfer.sender, transfer.receiver)];
    next_[i] = first;
    first = static_cast<std::int32_t>(i);
    ++senders_.waiting[At(transfer.sender)];
    ++receivers_.waiting[At(transfer.receiver)];
    Look(senders_, transfer.sender);
    Look(receivers_, transfer.receiver);
  }

  void Begin(WorkerIndex sender, WorkerIndex receiver) {
    std::int32_t& first = first_[PlaceOf(sender, receiver)];
    const auto i = static_cast<std::size_t>(first);
    first = next_[i];
    LeaveIdle(senders_, sender);
    LeaveIdle(receivers_, receiver);
    const Seconds end_s = now_s_ + lasts_s_[i];
    for (const auto& [side, worker] :
         {std::pair(&senders_, sender), std::pair(&receivers_, receiver)}) {
      --side->waiting[At(worker)];
      side->busy[At(worker)] = 1;
      side->resource[At(worker)].Begin(lasts_s_[i], end_s, 1);
    }
    const ClassPair& pair = PairFor(TransferAt(i));
    for (const std::size_t cut : pair.cuts) {
      free_lanes_[cut] -= pair.lanes;
      cuts_[cut].Begin(lasts_s_[i] * pair.lanes, end_s, pair.lanes);
    }
    running_.push({end_s, i});
    pieces_.push_back({transfers_[i], now_s_, lasts_s_[i]});
  }

  void End(std::size_t i) {
    const Transfer& transfer = TransferAt(i);
    const Seconds end_s = running_.top().first;
    for (const auto& [side, worker] :
         {std::pair(&senders_, transfer.sender), std::pair(&receivers_, transfer.receiver)}) {
      side->busy[At(worker)] = 0;
      side->resource[At(worker)].End(end_s, 1);
      Look(*side, worker);
    }
    const ClassPair& pair = PairFor(transfer);
    for (const std::size_t cut : pair.cuts) {
      free_lanes_[cut] += pair.lanes;
      cuts_[cut].End(end_s, pair.lanes);
      for (const auto& [a, b] : across_[cut]) List(a, b);
    }
  }

  double WeightOf(Resource& resource) {
    return std::exp(-std::max(0.0, bound_s_ - resource.EndAt(now_s_)) / scale_s_);
  }
  double WeightOf(Side& side, WorkerIndex worker) {
    if (side.weighed[At(worker)] != decision_) {
      side.weighed[At(worker)] = decision_;
      side.weight[At(worker)] = WeightOf(side.resource[At(worker)]) * side.noise[At(worker)];
    }
    return side.weight[At(worker)];
  }

  bool Open(const ClassPair& pair) const {
    return std::all_of(pair.cuts.begin(), pair.cuts.end(),
                       [&](std::size_t cut) { return free_lanes_[cut] >= pair.lanes; });
  }

  /// Finds the most urgent pair of idle ports of these classes that has something to move.
  void Search(std::size_t a, std::size_t b, ClassPair& pair) {
    pair.weight = -1;
    const std::vector<WorkerIndex>& senders = senders_.idle[a];
    const std::vector<WorkerIndex>& receivers = receivers_.idle[b];
    if (senders.empty() || receivers.empty() || !Open(pair)) return;
    fresh_.clear();
    for (const WorkerIndex receiver : receivers) {
      if (receivers_.since[At(receiver)] > pair.barren) fresh_.push_back(receiver);
    }
    const double most = WeightOf(receivers_, receivers[0]);
    for (const WorkerIndex sender : senders) {
      const double own = WeightOf(senders_, sender);
      if (own + most <= pair.weight) break;
      const bool fresh = senders_.since[At(sender)] > pair.barren;
      for (const WorkerIndex receiver : fresh ? receivers : fresh_) {
        ++work_;
        const double weight = own + WeightOf(receivers_, receiver);
        if (weight <= pair.weight) break;
        if (first_[PlaceOf(sender, receiver)] < 0) continue;
        pair.weight = weight;
        pair.sender = sender;
        pair.receiver = receiver;
        break;
      }
    }
    if (pair.weight < 0) pair.barren = decision_;
  }

  /// Offers the best of a pair of classes, if there is any.
  void Offer(std::size_t k) {
    ClassPair& pair = *dirty_[k].pair;
    Search(dirty_[k].sender_class, dirty_[k].receiver_class, pair);
    if (pair.weight < 0) return;
    offers_.push_back({pair.weight + pair.urgency, k});
    std::push_heap(offers_.begin(), offers_.end(), LessUrgent);
  }

  /// Starts what is most urgent, one after the other, until nothing more fits. Within a decision
  /// pairs of classes only become less urgent.
  void Decide() {
    offers_.clear();
    for (std::size_t k = 0; k < dirty_.size(); ++k) {
      ClassPair& pair = *dirty_[k].pair;
      pair.urgency = 0;
      if (!Open(pair)) continue;
      for (const std::size_t cut : pair.cuts) pair.urgency += WeightOf(cuts_[cut]);
      Offer(k);
    }
    work_ += static_cast<std::int64_t>(dirty_.size());
    while (!offers_.empty()) {
      std::pop_heap(offers_.begin(), offers_.end(), LessUrgent);
      const std::size_t k = offers_.back().second;
      offers_.pop_back();
      ++work_;
      const ClassPair& pair = *dirty_[k].pair;
      if (!Open(pair)) continue;
      if (senders_.busy[At(pair.sender)] == 0 && receivers_.busy[At(pair.receiver)] == 0) {
        Begin(pair.sender, pair.receiver);
      }
      Offer(k);
    }
    dirty_.clear();
  }

  const Plan& plan_;
  const NetworkModel& network_;
  const CutLanes lanes_;
  const std::vector<TransferIndex> transfers_;
  const SlackTuning tuning_;
  const std::size_t workers_;
  Side senders_, receivers_;
  std::vector<Resource> cuts_;
  std::vector<std::int64_t> free_lanes_;  // by cut
  std::vector<ClassPair> pairs_;          // by class of senders and of receivers
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> across_;  // by cut: classes
  std::vector<Seconds> lasts_s_;                                          // by position
  std::vector<std::pair<Seconds, std::size_t>> releases_;                 // positions by time
  // Transfers that are there and have not begun, by pair of workers: the first, and the next one.
  std::vector<std::int32_t> first_, next_;
  // Ends to come; equal ones by position.
  std::priority_queue<std::pair<Seconds, std::size_t>, std::vector<std::pair<Seconds, std::size_t>>,
                      std::greater<>>
      running_;
  std::vector<ScheduledPiece> pieces_;
  Seconds now_s_ = 0, bound_s_ = 0, scale_s_ = 1;
  std::int64_t decision_ = 0, work_ = 0;
  // Of one decision.
  std::vector<ChangedPair> dirty_;
  std::vector<std::pair<double, std::size_t>> offers_;  // a heap: urgency, position in dirty_
  std::vector<WorkerIndex> fresh_;
};

}  // namespace

std::int64_t DispatchWork(std::size_t num_transfers, std::int32_t num_workers) {
  return static_cast<std::int64_t>(num_transfers) *
         (kWorkPerTransfer + kWorkPerWorker * num_workers);
}

SlackSchedule DispatchBySlack(const Plan& plan, std::vector<TransferIndex> transfers,
                              const std::vector<Seconds>& step_finish_s,
                              const SlackTuning& tuning) {
  return Dispatch(plan, std::move(transfers), step_finish_s, tuning).Run();
}

}  // namespace weir::planner
