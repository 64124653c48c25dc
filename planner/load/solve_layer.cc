#include "planner/load/solve_layer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/load/exact_layer.h"
#include "planner/load/fast_layer.h"
#include "planner/load/source_program.h"

namespace weir::planner::load {
namespace {

// Below this the fast loads meet the bound to rounding and are exact as they stand.
constexpr double kExactGap = 1e-11;
// Largest layer whose fast loads are replaced by the cut program's (a second or so).
constexpr std::int32_t kRescueSendersMax = 1000;
// Largest layer that the automatic method closes the gap of (a tenth of a second).
constexpr std::int32_t kAutomaticSendersMax = 300;
// What a layer takes whatever its size, and the cut program for each square of its senders, in
// steps of the recursion.
constexpr double kLayerWork = 100;
constexpr double kProgramWork = 50;

absl::StatusOr<ScaledLoads> ExactLoads(const ScaledLayer& layer, const ScaledLoads& fast) {
  if (fast.time <= fast.bound * (1 + kExactGap)) return fast;
  if (layer.kind == LayerKind::kReducer) return ExactReducerLoads(layer, fast);
  // No mapper layer is known whose all-tight loads miss the bound; should one exist, the source's
  // program decides.
  absl::StatusOr<SourceSolution> solution = SolveSourceProgram(layer);
  if (!solution.ok()) return solution.status();
  return std::move(solution->loads);
}

/// The fast loads where a program does not close: they hold, and their gap is told.
ScaledLoads OrFast(absl::StatusOr<ScaledLoads> exact, const ScaledLoads& fast) {
  return exact.ok() ? *std::move(exact) : fast;
}

/// The fast loads, or the exact ones where the fast rules miss the bound by more than a result may
/// (about one random reducer layer in two thousand) and the program is small.
ScaledLoads FastEnoughLoads(const ScaledLayer& layer, const ScaledLoads& fast) {
  const bool missed = fast.time > fast.bound * (1 + kGapWarning);
  if (!missed || layer.kind == LayerKind::kMapper || layer.n > kRescueSendersMax) return fast;
  return OrFast(ExactReducerLoads(layer, fast), fast);
}

absl::StatusOr<ScaledLoads> LoadsBy(const ScaledLayer& layer, LayerMethod method) {
  switch (method) {
    case LayerMethod::kAutomatic: {
      const ScaledLoads fast = FastLoads(layer);
      return layer.n <= kAutomaticSendersMax ? OrFast(ExactLoads(layer, fast), fast)
                                             : FastEnoughLoads(layer, fast);
    }
    case LayerMethod::kFast:
      return FastEnoughLoads(layer, FastLoads(layer));
    case LayerMethod::kExact:
      return ExactLoads(layer, FastLoads(layer));
    case LayerMethod::kPaper:
    case LayerMethod::kPaperFreeOrder: {
      const bool free_order =
          method == LayerMethod::kPaperFreeOrder && layer.kind == LayerKind::kMapper;
      absl::StatusOr<SourceSolution> solution =
          free_order ? SolveFreeOrderProgram(layer) : SolveSourceProgram(layer);
      if (!solution.ok()) return solution.status();
      return std::move(solution->loads);
    }
  }
  return absl::InvalidArgumentError("unknown layer method");
}

const char* MethodName(LayerMethod method) {
  switch (method) {
    case LayerMethod::kAutomatic:
      return "automatic";
    case LayerMethod::kFast:
      return "fast";
    case LayerMethod::kExact:
      return "exact";
    case LayerMethod::kPaper:
      return "paper";
    case LayerMethod::kPaperFreeOrder:
      return "paper, free order";
  }
  return "unknown";
}

double WorkOf(const ScaledLayer& layer, LoadRule rule) {
  const auto senders = static_cast<double>(layer.n);
  const bool by_program = rule == LoadRule::kCutProgram || rule == LoadRule::kSourceProgram;
  return kLayerWork + senders * static_cast<double>(layer.cut_widths.size()) +
         (by_program ? kProgramWork * senders * senders : 0);
}

}  // namespace

absl::StatusOr<LayerSolution> SolveLayer(const Layer& layer, LayerMethod method) {
  const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
  if (!scaled.ok()) return scaled.status();
  absl::StatusOr<ScaledLoads> loads = LoadsBy(*scaled, method);
  if (!loads.ok()) return loads.status();

  LayerSolution solution;
  solution.share = std::move(loads->share);
  for (std::int32_t k = 0; k < layer.num_senders; ++k) {
    solution.finish_s.push_back(scaled->FinishTime(k, solution.share[static_cast<std::size_t>(k)]) *
                                scaled->time_unit_s);
  }
  solution.makespan_s = loads->time * scaled->time_unit_s;
  solution.lower_bound_s = std::min(loads->bound, loads->time) * scaled->time_unit_s;
  solution.gap = loads->time / loads->bound - 1;
  if (solution.gap < kGapRounding) solution.gap = 0;
  solution.method = absl::StrCat(MethodName(method), ": ", LoadRuleName(loads->rule));
  solution.newton_steps = loads->newton_steps;
  solution.work = WorkOf(*scaled, loads->rule);
  if (solution.gap > kGapWarning) {
    solution.warning = absl::StrCat("loads are ", 100 * solution.gap,
                                    " % above the lower bound; these numbers defeat the ",
                                    MethodName(method), " method (try the exact one)");
  }
  return solution;
}

}  // namespace weir::planner::load
