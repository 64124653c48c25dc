#include "planner/load/exact_layer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "planner/load/linear_program.h"

namespace weir::planner::load {
namespace {

constexpr int kRoundsMax = 200;
constexpr double kViolation = 1e-10;
// Cuts within this of tight at the start enter the first round.
constexpr double kNearlyTight = 1e-3;

/// The growing program. Columns: P_1 .. P_n, G_1 .. G_n, T (zero-based: P at k, G at n + k, T at 2
/// n).
class CutProgram {
 public:
  explicit CutProgram(const ScaledLayer& layer)
      : layer_(layer), n_(layer.n), program_(Columns(layer)) {
    for (int k = 0; k + 1 < n_; ++k) AddRising(k);
    program_.AddRow(n_ > 1 ? std::vector<int>{0, 1} : std::vector<int>{0},
                    n_ > 1 ? std::vector<double>{1, -1} : std::vector<double>{1}, 0, kUnbounded);
  }

  void AddTangent(int k, double load) {
    const ComputeFunction::Line line = layer_.compute.Tangent(load);
    std::vector<int> columns{n_ + k, k};
    std::vector<double> values{1, -line.slope};
    if (k + 1 < n_) {
      columns.insert(columns.end(), {n_ + k + 1, k + 1});
      values.insert(values.end(), {-1, line.slope});
    }
    program_.AddRow(columns, values, line.intercept, kUnbounded);
  }

  /// Adds the cuts and tangents that `share` and `finish` violate at `time` by more than `slack`;
  /// returns how many.
  int Separate(const std::vector<double>& share, const std::vector<double>& finish, double time,
               double slack) {
    std::vector<double> load_from(static_cast<std::size_t>(n_) + 1, 0),
        finish_from(static_cast<std::size_t>(n_) + 1, 0);
    for (int k = n_ - 1; k >= 0; --k) {
      const auto at = static_cast<std::size_t>(k);
      load_from[at] = load_from[at + 1] + share[at];
      finish_from[at] = finish_from[at + 1] + finish[at];
    }
    int added = 0;
    for (int k = 0; k < n_; ++k) {
      const int rest = n_ - k;
      const auto at = static_cast<std::size_t>(k);
      double worst = slack;
      int worst_q = 0;
      const auto consider = [&](int q) {
        const double left = layer_.send_all * CutShare(q, rest) * load_from[at] + finish_from[at] -
                            finish_from[at + static_cast<std::size_t>(q)];
        if (left / q - time > worst) {
          worst = left / q - time;
          worst_q = q;
        }
      };
      for (const int q : layer_.cut_widths) {
        if (q >= rest) break;
        consider(q);
      }
      if (rest <= layer_.width) consider(rest);
      if (worst_q > 0 && AddCut(k, worst_q)) ++added;
    }
    return added;
  }

  bool AddCut(int k, int q) {
    if (!cuts_.insert({k, q}).second) return false;
    std::vector<int> columns{k, n_ + k, 2 * n_};
    std::vector<double> values{layer_.send_all * CutShare(q, n_ - k), 1, -static_cast<double>(q)};
    if (k + q < n_) {
      columns.push_back(n_ + k + q);
      values.push_back(-1);
    }
    program_.AddRow(columns, values, -kUnbounded, 0);
    return true;
  }

  absl::StatusOr<ProgramSolution> Solve() { return program_.Solve(); }

 private:
  static LinearProgram Columns(const ScaledLayer& layer) {
    LinearProgram columns;
    for (int k = 0; k < layer.n; ++k) columns.AddColumn(k == 0 ? 1 : 0, k == 0 ? 1 : kUnbounded, 0);
    for (int k = 0; k < layer.n; ++k) columns.AddColumn(0, kUnbounded, 0);
    columns.AddColumn(0, kUnbounded, 1);
    return columns;
  }

  void AddRising(int k) {
    std::vector<int> columns{k, k + 1};
    std::vector<double> values{1, -2};
    if (k + 2 < n_) {
      columns.push_back(k + 2);
      values.push_back(1);
    }
    program_.AddRow(columns, values, -kUnbounded, 0);
  }

  double CutShare(int q, int rest) const {
    return q >= rest ? 1.0 : layer_.top_fractions[static_cast<std::size_t>(q)];
  }

  const ScaledLayer& layer_;
  int n_;
  GrowingProgram program_;
  absl::flat_hash_set<std::pair<int, int>> cuts_;
};

}  // namespace

absl::StatusOr<ScaledLoads> ExactReducerLoads(const ScaledLayer& layer, const ScaledLoads& start) {
  const auto n = static_cast<std::size_t>(layer.n);
  CutProgram program(layer);
  ScaledLoads loads = start;
  std::vector<double> finish(n);
  for (std::size_t k = 0; k < n; ++k) {
    finish[k] = layer.compute.Value(loads.share[k]);
    for (const double near : {0.5, 0.7, 1.0, 1.4, 2.0}) {
      program.AddTangent(static_cast<int>(k), near * loads.share[k]);
    }
  }
  program.Separate(loads.share, finish, start.time, -kNearlyTight * start.time);
  for (int round = 0; round < kRoundsMax; ++round) {
    absl::StatusOr<ProgramSolution> solution = program.Solve();
    if (!solution.ok()) return solution.status();
    const std::vector<double>& values = solution->values;
    const double time = values[2 * n];
    for (std::size_t k = 0; k < n; ++k) {
      loads.share[k] = values[k] - (k + 1 < n ? values[k + 1] : 0);
      finish[k] = values[n + k] - (k + 1 < n ? values[n + k + 1] : 0);
    }
    int added = program.Separate(loads.share, finish, time, kViolation * time);
    for (std::size_t k = 0; k < n; ++k) {
      if (layer.compute.Value(loads.share[k]) - finish[k] <= kViolation * time) continue;
      program.AddTangent(static_cast<int>(k), loads.share[k]);
      ++added;
    }
    if (added > 0) continue;
    for (double& load : loads.share) load = std::max(load, 0.0);
    const double total = std::accumulate(loads.share.begin(), loads.share.end(), 0.0);
    for (double& load : loads.share) load /= total;
    std::sort(loads.share.begin(), loads.share.end());
    loads.time = CutMakespan(layer, loads.share);
    loads.bound = time;
    loads.rule = LoadRule::kCutProgram;
    return loads;
  }
  return absl::InternalError(
      absl::StrCat("cut program did not close in ", kRoundsMax, " rounds at n = ", layer.n));
}

}  // namespace weir::planner::load
