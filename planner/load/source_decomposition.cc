#include "planner/load/source_decomposition.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"

namespace weir::planner::load {
namespace {

// Sums this close to 1 (or to l) are critical; weights below kNothing are zero.
constexpr double kCritical = 1e-9;
constexpr double kNothing = 1e-12;

/// Maximum flow by shortest augmenting paths in level graphs.
class FlowNetwork {
 public:
  explicit FlowNetwork(int num_nodes)
      : edges_of_(At(num_nodes)), level_(At(num_nodes)), next_(At(num_nodes)) {}

  int AddEdge(int from, int to, int capacity) {
    edges_of_[At(from)].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({to, capacity});
    edges_of_[At(to)].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({from, 0});
    return static_cast<int>(edges_.size()) - 2;
  }

  int Maximise(int source, int sink) {
    int flow = 0;
    while (FindLevels(source, sink)) {
      std::fill(next_.begin(), next_.end(), std::size_t{0});
      while (const int pushed = Push(source, sink, std::numeric_limits<int>::max())) flow += pushed;
    }
    return flow;
  }

  bool Used(int edge) const { return edges_[At(edge) + 1].capacity > 0; }

 private:
  struct Edge {
    int to;
    int capacity;
  };

  bool FindLevels(int source, int sink) {
    std::fill(level_.begin(), level_.end(), -1);
    std::vector<int> queue{source};
    level_[At(source)] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const int e : edges_of_[At(queue[head])]) {
        const Edge& edge = edges_[At(e)];
        if (edge.capacity == 0 || level_[At(edge.to)] >= 0) continue;
        level_[At(edge.to)] = level_[At(queue[head])] + 1;
        queue.push_back(edge.to);
      }
    }
    return level_[At(sink)] >= 0;
  }

  // The depth is at most the number of levels: source, sender, receiver, limit, sink and back.
  int Push(int node, int sink, int room) {
    if (node == sink) return room;
    for (std::size_t& i = next_[At(node)]; i < edges_of_[At(node)].size(); ++i) {
      const int e = edges_of_[At(node)][i];
      if (edges_[At(e)].capacity == 0 || level_[At(edges_[At(e)].to)] != level_[At(node)] + 1)
        continue;
      const int pushed = Push(edges_[At(e)].to, sink, std::min(room, edges_[At(e)].capacity));
      if (pushed == 0) continue;
      edges_[At(e)].capacity -= pushed;
      edges_[At(e ^ 1)].capacity += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<Edge> edges_;
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

/// W of 4.3 with its sums.
struct Weights {
  std::vector<std::vector<double>> w;
  std::vector<double> row, column;
  double total = 0;

  void Sum() {
    row.assign(w.size(), 0);
    column.assign(w[0].size(), 0);
    total = 0;
    for (std::size_t j = 0; j < w.size(); ++j) {
      for (std::size_t k = 0; k < column.size(); ++k) {
        row[j] += w[j][k];
        column[k] += w[j][k];
        total += w[j][k];
      }
    }
  }
};

using Pairs = std::vector<std::pair<int, int>>;

/// F as a feasible flow (figure 2). Lower bounds become demands of an extra source and sink.
absl::StatusOr<Pairs> ConcurrentSet(const Weights& weights, int l) {
  const int rows = static_cast<int>(weights.row.size());
  const int columns = static_cast<int>(weights.column.size());
  const int source = rows + columns, sink = source + 1, limit = source + 2, need_out = source + 3,
            need_in = source + 4;
  FlowNetwork network(source + 5);
  int needed = 0;
  const auto add = [&](int from, int to, int lower, int upper) {
    network.AddEdge(from, to, upper - lower);
    if (lower == 0) return;
    network.AddEdge(need_out, to, lower);
    network.AddEdge(from, need_in, lower);
    needed += lower;
  };
  for (int j = 0; j < rows; ++j) add(source, j, weights.row[At(j)] > 1 - kCritical ? 1 : 0, 1);
  for (int k = 0; k < columns; ++k)
    add(rows + k, limit, weights.column[At(k)] > 1 - kCritical ? 1 : 0, 1);
  add(limit, sink, weights.total > l - kCritical ? l : 0, l);
  network.AddEdge(sink, source, l);
  std::vector<std::pair<int, std::pair<int, int>>> pair_edges;
  for (int j = 0; j < rows; ++j) {
    for (int k = 0; k < columns; ++k) {
      if (weights.w[At(j)][At(k)] > kNothing)
        pair_edges.push_back({network.AddEdge(j, rows + k, 1), {j, k}});
    }
  }
  const int flow = network.Maximise(need_out, need_in);
  if (flow < needed) {
    return absl::InternalError(
        absl::StrCat("no set F: flow ", flow, " of ", needed, " (the demand does not fit)"));
  }
  Pairs pairs;
  for (const auto& [edge, pair] : pair_edges) {
    if (network.Used(edge)) pairs.push_back(pair);
  }
  if (!pairs.empty()) return pairs;
  std::vector<bool> taken(At(columns), false);
  for (int j = 0; j < rows && static_cast<int>(pairs.size()) < l; ++j) {
    for (int k = 0; k < columns; ++k) {
      if (taken[At(k)] || weights.w[At(j)][At(k)] <= kNothing) continue;
      taken[At(k)] = true;
      pairs.push_back({j, k});
      break;
    }
  }
  return pairs;
}

/// epsilon of 4.3: until an entry of F is used up or something else becomes critical.
double ShownFor(const Weights& weights, const Pairs& pairs, int l) {
  double epsilon = 1;
  std::vector<bool> row_used(weights.row.size(), false), column_used(weights.column.size(), false);
  for (const auto& [j, k] : pairs) {
    row_used[At(j)] = column_used[At(k)] = true;
    epsilon = std::min(epsilon, weights.w[At(j)][At(k)]);  // v1_min
  }
  for (std::size_t j = 0; j < row_used.size(); ++j) {
    if (!row_used[j]) epsilon = std::min(epsilon, 1 - weights.row[j]);  // 1 - v1_max
  }
  for (std::size_t k = 0; k < column_used.size(); ++k) {
    if (!column_used[k]) epsilon = std::min(epsilon, 1 - weights.column[k]);  // 1 - v2_max
  }
  const int idle = l - static_cast<int>(pairs.size());
  if (idle > 0) epsilon = std::min(epsilon, (l - weights.total) / idle);  // v2_min
  return epsilon;
}

}  // namespace

absl::StatusOr<std::vector<Piece>> SourceDecomposition(std::vector<std::vector<double>> send_time,
                                                       double begin, double length,
                                                       std::int32_t channels) {
  Weights weights{std::move(send_time), {}, {}, 0};
  for (std::vector<double>& row : weights.w) {
    for (double& w : row) w /= length;
  }
  std::vector<Piece> pieces;
  double left = 1;  // Delta t, as a fraction of the interval
  while (left > kCritical) {
    weights.Sum();
    if (weights.total < kCritical) break;
    const absl::StatusOr<Pairs> pairs = ConcurrentSet(weights, channels);
    if (!pairs.ok()) return pairs.status();
    const double epsilon = ShownFor(weights, *pairs, channels);
    if (!(epsilon > kNothing)) {
      return absl::InternalError(
          absl::StrCat("set F of ", pairs->size(), " pairs cannot be shown: epsilon = ", epsilon));
    }
    const double from = begin + (1 - left) * length;
    for (const auto& [j, k] : *pairs) {
      pieces.push_back({j, k, from, from + epsilon * left * length});
      weights.w[At(j)][At(k)] = std::max(0.0, weights.w[At(j)][At(k)] - epsilon);
    }
    left *= 1 - epsilon;
    if (left <= kCritical) break;
    for (std::vector<double>& row : weights.w) {
      for (double& w : row) w /= 1 - epsilon;
    }
  }
  return pieces;
}

}  // namespace weir::planner::load
