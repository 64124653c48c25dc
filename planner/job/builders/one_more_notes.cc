#include "planner/job/builders/one_more_notes.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/explain/readable.h"
#include "planner/job/builders/job_chain.h"
#include "planner/job/job_drafts.h"
#include "planner/job/map_chunks.h"
#include "planner/load/chain.h"
#include "planner/load/choose_counts.h"

namespace weir::planner {
namespace {

std::string ChangeText(const char* what, Seconds change_s, Seconds makespan_s) {
  if (std::abs(change_s) < 1e-4 * makespan_s) return absl::StrCat(what, " would change nothing");
  return absl::StrCat(what, change_s < 0 ? " would save " : " would cost ",
                      ReadableSeconds(std::abs(change_s)));
}

}  // namespace

std::vector<std::string> OneMoreNotes(const JobShape& shape, const ClusterProfile& cluster,
                                      const Plan& plan) {
  load::Chain chain = ChainOf(shape, cluster);
  for (std::size_t p = 0; p <= chain.reducers.size(); ++p) CountOf(chain, p) = 0;
  std::vector<double> rates(chain.reducers.size() + 1, 0);  // of each layer's workers
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->stores) continue;
    const auto layer = static_cast<std::size_t>(step.layer);
    ++CountOf(chain, layer);
    rates[layer] += cluster.workers[static_cast<std::size_t>(step.worker)].compute_rate;
  }
  for (std::size_t p = 0; p < rates.size(); ++p) rates[p] /= CountOf(chain, p);
  SetOutputRatio(shape, chain);
  SetCosts(shape, rates, chain);
  absl::StatusOr<load::OneMore> more = load::CompareOneMore(chain);
  if (!more.ok()) return {};
  if (LargestChunkIsUncut(shape, plan) || InputDiskLimits(shape, cluster, plan)) more->mapper_s = 0;
  const Seconds makespan_s = plan.summary.makespan_s;
  std::string note =
      absl::StrCat("By the model, ", ChangeText("one more mapper", more->mapper_s, makespan_s));
  for (std::size_t p = 0; p < more->reducer_s.size(); ++p) {
    const std::string layer = more->reducer_s.size() > 1
                                  ? absl::StrCat("one more reducer of layer ", p + 1)
                                  : "one more reducer";
    absl::StrAppend(&note, ", ", ChangeText(layer.c_str(), more->reducer_s[p], makespan_s));
  }
  absl::StrAppend(&note, ", ", ChangeText("one more channel", more->channel_s, makespan_s), ".");
  return {note};
}

}  // namespace weir::planner
