#include "runtime/master/calibrate/calibration_patterns.h"

#include <algorithm>
#include <numeric>

namespace weir::master {
namespace {

std::uint64_t NextRandom(std::uint64_t& state) {
  // splitmix64
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

std::vector<int> RandomOrder(std::size_t num_workers, std::uint64_t& state) {
  std::vector<int> order(num_workers);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[NextRandom(state) % left]);
  }
  return order;
}

// By worker; -1 = rests.
std::vector<int> PartnersOf(const Matching& matching, std::size_t num_workers) {
  std::vector<int> partners(num_workers, -1);
  for (const auto& [a, b] : matching) {
    partners[static_cast<std::size_t>(a)] = b;
    partners[static_cast<std::size_t>(b)] = a;
  }
  return partners;
}

}  // namespace

Matching HalvesMatching(int num_workers) {
  Matching matching;
  const int half = num_workers / 2;
  for (int i = 0; i < half; ++i) matching.emplace_back(i, i + half);
  return matching;
}

Matching OuterHalvesMatching(int num_workers) {
  Matching matching;
  for (int i = 0; i < num_workers / 2; ++i) matching.emplace_back(i, i + (num_workers + 1) / 2);
  return matching;
}

Matching NeighboursMatching(int num_workers) {
  Matching matching;
  for (int i = 0; i + 1 < num_workers; i += 2) matching.emplace_back(i, i + 1);
  return matching;
}

Matching MirrorMatching(int num_workers) {
  Matching matching;
  for (int i = 0; i < num_workers / 2; ++i) matching.emplace_back(i, num_workers - 1 - i);
  return matching;
}

Matching RandomMatching(int num_workers, std::uint64_t& random_state) {
  const std::vector<int> order = RandomOrder(static_cast<std::size_t>(num_workers), random_state);
  Matching matching;
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
    matching.emplace_back(order[i], order[i + 1]);
  }
  return matching;
}

std::vector<ProbeFlow> FlowsOf(const Matching& matching, std::size_t num_pairs) {
  std::vector<ProbeFlow> flows;
  for (std::size_t i = 0; i < std::min(num_pairs, matching.size()); ++i) {
    flows.push_back({matching[i].first, matching[i].second});
    flows.push_back({matching[i].second, matching[i].first});
  }
  return flows;
}

Matching ApplySwaps(const Matching& matching, const std::vector<Swap>& swaps) {
  int most = 0;
  for (const auto& [a, b] : matching) most = std::max({most, a, b});
  for (const Swap& swap : swaps) most = std::max({most, swap.a, swap.b});
  std::vector<int> partners = PartnersOf(matching, static_cast<std::size_t>(most) + 1);
  const auto partner = [&partners](int worker) -> int& {
    return partners[static_cast<std::size_t>(worker)];
  };
  for (const Swap& swap : swaps) {
    const int x = partner(swap.a);
    const int y = partner(swap.b);
    partner(swap.a) = swap.b;
    partner(swap.b) = swap.a;
    if (x >= 0) partner(x) = y;
    if (y >= 0) partner(y) = x;
  }
  Matching swapped;
  for (int a = 0; a <= most; ++a) {
    if (partner(a) > a) swapped.emplace_back(a, partner(a));
  }
  return swapped;
}

RackKnowledge::RackKnowledge(int num_workers)
    : root_(static_cast<std::size_t>(num_workers)), others_(static_cast<std::size_t>(num_workers)) {
  std::iota(root_.begin(), root_.end(), 0);
}

int RackKnowledge::RootOf(int worker) const { return root_[static_cast<std::size_t>(worker)]; }

RackKnowledge::Relation RackKnowledge::Of(int a, int b) const {
  const int x = RootOf(a);
  const int y = RootOf(b);
  if (x == y) return Relation::kSame;
  return others_[static_cast<std::size_t>(x)].contains(y) ? Relation::kDifferent
                                                          : Relation::kUnknown;
}

void RackKnowledge::SetDifferent(int a, int b) {
  const int x = RootOf(a);
  const int y = RootOf(b);
  if (x == y) return;
  others_[static_cast<std::size_t>(x)].insert(y);
  others_[static_cast<std::size_t>(y)].insert(x);
}

void RackKnowledge::SetSame(int a, int b) {
  if (Of(a, b) != Relation::kUnknown) return;
  const int kept = std::min(RootOf(a), RootOf(b));
  const int gone = std::max(RootOf(a), RootOf(b));
  for (int& root : root_) {
    if (root == gone) root = kept;
  }
  for (const int other : others_[static_cast<std::size_t>(gone)]) {
    others_[static_cast<std::size_t>(other)].erase(gone);
    others_[static_cast<std::size_t>(other)].insert(kept);
    others_[static_cast<std::size_t>(kept)].insert(other);
  }
  others_[static_cast<std::size_t>(gone)].clear();
}

std::vector<std::vector<int>> RackKnowledge::Racks() const {
  std::vector<std::vector<int>> by_root(root_.size());
  for (int worker = 0; worker < static_cast<int>(root_.size()); ++worker) {
    by_root[static_cast<std::size_t>(RootOf(worker))].push_back(worker);
  }
  std::erase_if(by_root, [](const std::vector<int>& rack) { return rack.empty(); });
  return by_root;
}

bool RackKnowledge::AnySame() const { return Racks().size() < root_.size(); }

std::vector<Swap> RackKnowledge::NextSwaps(const Matching& matching, std::size_t swaps_max,
                                           std::uint64_t& random_state) const {
  const std::vector<int> partners = PartnersOf(matching, root_.size());
  std::vector<bool> taken(root_.size(), false);
  std::vector<Swap> swaps;
  const auto partner = [&partners](int worker) {
    return partners[static_cast<std::size_t>(worker)];
  };
  const auto is_taken = [&taken](int worker) {
    return worker >= 0 && taken[static_cast<std::size_t>(worker)];
  };
  const int num_workers = static_cast<int>(root_.size());
  const auto fits = [&](int a, int b) {
    return b >= 0 && b < num_workers && b != partner(a) && !is_taken(b) && !is_taken(partner(b)) &&
           Of(a, b) == Relation::kUnknown;
  };
  for (const int a : RandomOrder(root_.size(), random_state)) {
    if (swaps.size() >= swaps_max) break;
    if (is_taken(a) || is_taken(partner(a))) continue;
    for (int distance = 1; distance < num_workers; ++distance) {
      const int b = fits(a, a + distance) ? a + distance : a - distance;
      if (!fits(a, b)) continue;
      swaps.push_back({a, b});
      for (const int worker : {a, b, partner(a), partner(b)}) {
        if (worker >= 0) taken[static_cast<std::size_t>(worker)] = true;
      }
      break;
    }
  }
  return swaps;
}

}  // namespace weir::master
