#include "jobs/pagerank/pagerank.h"

#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "jobs/pagerank/edges.h"
#include "jobs/pagerank/find_ranks.h"
#include "jobs/records/csv_check.h"
#include "jobs/records/first_lines.h"
#include "jobs/records/parameters.h"

namespace weir::pagerank {
namespace {

absl::StatusOr<Options> OptionsOf(const ParameterValues& values) {
  const absl::StatusOr<double> damping = NumberOf(values, "damping", {0, 1});
  if (!damping.ok()) return damping.status();
  const absl::StatusOr<double> tolerance = NumberOf(values, "tolerance", kFromZeroOn);
  if (!tolerance.ok()) return tolerance.status();
  return Options{IntegerOf(values, "nodes"), *damping, *tolerance};
}

std::int64_t IdOf(std::string_view line) {
  std::int64_t id = 0;
  const std::string_view text = line.substr(0, line.find('\t'));
  (void)absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &id);
  return id;
}

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "pagerank";
    info_.summary = "Ranks the nodes of an edge list by the edges that lead to them";
    info_.parameters = {
        IntegerParameter("nodes", 1'000'000, 1, kNodesMax,
                         "node ids are integers from 0 to this minus 1; 8 bytes of memory each"),
        TextParameter("damping", "0.85", "how much of a rank comes over edges, from 0 to 1"),
        TextParameter("tolerance", "0.000001",
                      "end when the ranks change by no more in all in an iteration"),
        IntegerParameter("iterations", 100, 1, 10'000,
                         "end after so many iterations at the latest")};
    AddShowParameter(info_.parameters);
    // Processor time of 2 million generated edges, 23 MB, one slot: 0.5 s with one iteration, 0.9 s
    // with 41.
    info_.rates = {20e-9, 0.01, {{4e-9, 2.5}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::Status CheckValues(const ParameterValues& values) const override {
    return OptionsOf(values).status();
  }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    const absl::StatusOr<Options> options = OptionsOf(values);
    if (!options.ok()) return options.status();
    return MakeLoopProgram(FindRanks(*options));
  }

  absl::StatusOr<std::optional<LoopInfo>> Loop(const ParameterValues& values) const override {
    const absl::StatusOr<Options> options = OptionsOf(values);
    if (!options.ok()) return options.status();
    LoopInfo loop;
    loop.iterations = static_cast<std::int32_t>(IntegerOf(values, "iterations"));
    loop.element_places = options->nodes;
    loop.state_places = options->nodes;
    loop.iterate_seconds_per_byte = 0.4e-9;
    loop.combine_seconds_per_byte = 0.3e-9;
    loop.update_seconds_per_byte = 0.5e-9;
    return loop;
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues& values,
                       std::ostream& out) const override {
    return PresentFirstLines(
        part_paths, values,
        [](std::string_view a, std::string_view b) { return IdOf(a) < IdOf(b); }, out);
  }

  const JobData* data() const override { return &data_; }

 private:
  JobInfo info_;
  CsvData<EdgeGenerator, 2> data_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::pagerank
