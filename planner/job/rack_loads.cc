#include "planner/job/rack_loads.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "planner/plan/units.h"

namespace weir::planner {
namespace {

// Boxes a side of the grid over (x, d).
constexpr int kBoxes = 64;
constexpr int kHalvings = 60;
// Parts that the search moves at first, and at last.
constexpr double kFirstPart = 0.25;
constexpr double kLastPart = 1.0 / 512;
// What a move must gain, so that rounding does not go in circles.
constexpr double kLeastGain = 1e-9;

std::vector<bool> Others(const std::vector<bool>& inside) {
  std::vector<bool> others;
  for (const bool in : inside) others.push_back(!in);
  return others;
}

double RateOfOthers(const RackWork& work, std::size_t rack) {
  return std::accumulate(work.rates.begin(), work.rates.end(), -work.rates[rack]);
}

/// Time of `part` of `work_s` at `rate`, where nobody at all takes for ever.
Seconds Takes(Seconds work_s, double part, double rate) {
  if (work_s <= 0 || part <= 0) return 0;
  return rate > 0 ? work_s * part / rate : std::numeric_limits<Seconds>::infinity();
}

/// Least over x in [x_low, x_high] and d likewise of what one rack forces.
Seconds BoxBound(const Rack& rack, const RackWork& work, double rate, double rate_of_others,
                 double x_low, double x_high, double d_low, double d_high) {
  const auto surely = [&](double part) { return std::max(0.0, part - work.rounding); };
  const Seconds map_s = std::max({work.map_least_s, Takes(work.map_s, surely(x_low), rate),
                                  Takes(work.map_s, surely(1 - x_high), rate_of_others)});
  const Seconds reduce_s =
      std::max(Takes(work.reduce_s, d_low, rate), Takes(work.reduce_s, 1 - d_high, rate_of_others));
  const Seconds ways_s = std::max(work.moved_s * x_low * (1 - d_high) / rack.up_channels,
                                  work.moved_s * (1 - x_high) * d_low / rack.down_channels);
  return std::max(map_s + reduce_s, ways_s) + work.after_s;
}

Seconds OneRackBound(const Rack& rack, const RackWork& work, double rate, double rate_of_others) {
  Seconds least_s = std::numeric_limits<Seconds>::infinity();
  for (int i = 0; i < kBoxes; ++i) {
    for (int k = 0; k < kBoxes; ++k) {
      const auto at = [](int step) { return static_cast<double>(step) / kBoxes; };
      least_s = std::min(
          least_s, BoxBound(rack, work, rate, rate_of_others, at(i), at(i + 1), at(k), at(k + 1)));
    }
  }
  return least_s;
}

/// Of all racks together, through ways of `channels` in all.
Seconds AllRacksBound(const RackWork& work, double channels) {
  const double fastest = *std::max_element(work.rates.begin(), work.rates.end());
  const auto computed_s = [&](double m) {
    return std::max(work.map_least_s,
                    Takes(work.map_s, std::max(0.0, m - work.rounding), fastest)) +
           Takes(work.reduce_s, m, fastest);
  };
  const auto moved_s = [&](double m) { return work.moved_s * (1 - m) / channels; };
  double low = 1.0 / static_cast<double>(work.rates.size()), high = 1;
  if (computed_s(low) >= moved_s(low)) return computed_s(low) + work.after_s;
  for (int i = 0; i < kHalvings; ++i) {
    const double m = (low + high) / 2;
    (computed_s(m) < moved_s(m) ? low : high) = m;
  }
  // What moves at `high` has to move at every smaller m, what is computed at `low` at every larger.
  return std::max(computed_s(low), moved_s(high)) + work.after_s;
}

/// Moves `part` of one list between racks; false where there is not so much.
bool Move(std::vector<double>& parts, std::size_t from, std::size_t to, double part) {
  if (parts[from] <= 0) return false;
  const double moved = std::min(part, parts[from]);
  parts[from] -= moved;
  parts[to] += moved;
  return true;
}

/// Takes the best move of a part between any two racks until none is left that gains.
void Improve(const std::vector<Rack>& level, const RackWork& work, double part, RackShares& best,
             Seconds& best_s) {
  for (std::size_t round = 0; round < 4 * level.size(); ++round) {
    RackShares next = best;
    Seconds next_s = best_s;
    for (std::size_t from = 0; from < level.size(); ++from) {
      for (std::size_t to = 0; to < level.size(); ++to) {
        if (from == to) continue;
        for (const auto& [maps, reduces] :
             {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
          RackShares tried = best;
          bool moved = true;
          if (maps) moved = Move(tried.mapped, from, to, part);
          if (reduces) moved = Move(tried.reduced, from, to, part) && moved;
          if (!moved) continue;
          const Seconds tried_s = RackSplitSeconds(level, work, tried);
          if (tried_s >= next_s * (1 - kLeastGain)) continue;
          next = std::move(tried);
          next_s = tried_s;
        }
      }
    }
    if (next_s >= best_s) return;
    best = std::move(next);
    best_s = next_s;
  }
}

}  // namespace

std::vector<std::vector<Rack>> RackLevels(const NetworkModel& network) {
  struct Ways {
    double up = std::numeric_limits<double>::infinity();
    double down = std::numeric_limits<double>::infinity();
  };
  std::map<std::vector<bool>, Ways> sets;
  for (const Cut& cut : network.cuts) {
    if (cut.to != Others(cut.from)) continue;
    // One cut is the way out of its senders and the way into its receivers.
    Ways& out = sets[cut.from];
    out.up = std::min(out.up, static_cast<double>(cut.channels));
    Ways& in = sets[cut.to];
    in.down = std::min(in.down, static_cast<double>(cut.channels));
  }
  std::vector<std::pair<std::vector<bool>, Ways>> smallest_first(sets.begin(), sets.end());
  const auto size = [](const std::vector<bool>& set) {
    return std::count(set.begin(), set.end(), true);
  };
  std::stable_sort(smallest_first.begin(), smallest_first.end(),
                   [&](const auto& a, const auto& b) { return size(a.first) < size(b.first); });
  std::vector<std::vector<Rack>> levels;
  std::vector<std::vector<bool>> covered;  // by level
  for (const auto& [set, ways] : smallest_first) {
    std::size_t level = 0;
    const auto overlaps = [&](const std::vector<bool>& taken) {
      for (std::size_t w = 0; w < taken.size(); ++w) {
        if (taken[w] && set[w]) return true;
      }
      return false;
    };
    while (level < levels.size() && overlaps(covered[level])) ++level;
    if (level == levels.size()) {
      levels.emplace_back();
      covered.emplace_back(set.size(), false);
    }
    Rack rack{{}, ways.up, ways.down};
    for (std::size_t w = 0; w < set.size(); ++w) {
      if (!set[w]) continue;
      rack.workers.push_back(static_cast<WorkerIndex>(w));
      covered[level][w] = true;
    }
    if (!rack.workers.empty()) levels[level].push_back(std::move(rack));
  }
  for (std::size_t level = 0; level < levels.size(); ++level) {
    Rack rest;
    for (std::size_t w = 0; w < covered[level].size(); ++w) {
      if (!covered[level][w]) rest.workers.push_back(static_cast<WorkerIndex>(w));
    }
    if (!rest.workers.empty()) levels[level].push_back(std::move(rest));
  }
  return levels;
}

RackWork RackWorkOf(const JobShape& shape, const ClusterProfile& cluster, double shuffled_bytes) {
  const auto steps = [&](std::int32_t asked) {
    return asked > 0 ? static_cast<double>(asked) : static_cast<double>(cluster.workers.size());
  };
  const double mappers = steps(shape.num_mappers);
  const double sections = mappers * (1 + steps(shape.layers[0].num_reducers));
  RackWork work;
  // A mapper's vector is as large whatever it reads, and tables grow less than their input.
  const bool in_proportion = !MakesVectors(shape) &&
                             (shape.map_output_at_bytes == 0 || shape.map_output_growth.value == 1);
  if (in_proportion) {
    work.map_s = static_cast<double>(shape.input_bytes) * shape.map_seconds_per_byte.value;
  }
  const LayerShape& first = shape.layers[0];
  work.reduce_s = first.reduce_seconds_per_byte.value * shuffled_bytes +
                  LeastGrowthSeconds(first, shuffled_bytes, steps(first.num_reducers));
  // Every section is rounded to whole bytes.
  work.moved_s = cluster.network.seconds_per_byte * std::max(0.0, shuffled_bytes - sections);
  work.rounding = shuffled_bytes > 0 ? std::min(1.0, mappers / shuffled_bytes) : 1;
  return work;
}

std::vector<double> RackRates(const std::vector<Rack>& level, const ClusterProfile& cluster) {
  std::vector<double> rates;
  for (const Rack& rack : level) {
    double rate = 0;
    for (const WorkerIndex w : rack.workers) rate += cluster.workers[At(w)].compute_rate;
    rates.push_back(rate);
  }
  return rates;
}

Seconds RackBound(const std::vector<Rack>& level, const RackWork& work) {
  Seconds bound_s = 0;
  double up = 0, down = 0;
  for (std::size_t rack = 0; rack < level.size(); ++rack) {
    up += level[rack].up_channels;
    down += level[rack].down_channels;
    bound_s = std::max(bound_s,
                       OneRackBound(level[rack], work, work.rates[rack], RateOfOthers(work, rack)));
  }
  return std::max({bound_s, AllRacksBound(work, up), AllRacksBound(work, down)});
}

Seconds RackSplitSeconds(const std::vector<Rack>& level, const RackWork& work,
                         const RackShares& shares) {
  Seconds map_s = work.map_least_s, reduce_s = 0, moved_s = 0;
  for (std::size_t rack = 0; rack < level.size(); ++rack) {
    const double x = shares.mapped[rack], d = shares.reduced[rack];
    const auto hosts = static_cast<double>(level[rack].workers.size());
    map_s = std::max(map_s, Takes(work.map_s, x, work.rates[rack]));
    reduce_s = std::max(reduce_s, Takes(work.reduce_s, d, work.rates[rack]));
    moved_s = std::max({moved_s, x * (1 - d) / level[rack].up_channels,
                        d * (1 - x) / level[rack].down_channels, x / hosts * (1 - d / hosts),
                        d / hosts * (1 - x / hosts)});
  }
  return map_s + work.moved_s * moved_s + reduce_s + work.after_s;
}

RackShares ShortestRackShares(const std::vector<Rack>& level, const RackWork& work) {
  const double all = std::accumulate(work.rates.begin(), work.rates.end(), 0.0);
  RackShares by_rate;
  for (const double rate : work.rates) by_rate.mapped.push_back(rate / all);
  by_rate.reduced = by_rate.mapped;
  std::vector<RackShares> starts = {by_rate};
  if (level.size() <= kRacksSearched) {
    for (std::size_t rack = 0; rack < level.size(); ++rack) {
      RackShares alone;
      alone.mapped.assign(level.size(), 0);
      alone.mapped[rack] = 1;
      alone.reduced = alone.mapped;
      // The reducers in one rack, the mappers everywhere.
      starts.push_back({by_rate.mapped, alone.reduced});
      starts.push_back(std::move(alone));
    }
  }
  const auto seconds = [&](const RackShares& a) { return RackSplitSeconds(level, work, a); };
  std::stable_sort(starts.begin() + 1, starts.end(),
                   [&](const auto& a, const auto& b) { return seconds(a) < seconds(b); });
  // By rate, and the best of the others: the rest of them end where these do.
  starts.resize(std::min<std::size_t>(starts.size(), 2));
  RackShares best = by_rate;
  Seconds best_s = seconds(best);
  for (RackShares& start : starts) {
    Seconds start_s = seconds(start);
    for (double part = kFirstPart; part >= kLastPart && level.size() <= kRacksSearched; part /= 2) {
      Improve(level, work, part, start, start_s);
    }
    if (start_s >= best_s) continue;
    best = std::move(start);
    best_s = start_s;
  }
  return best;
}

}  // namespace weir::planner
