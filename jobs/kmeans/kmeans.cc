#include "jobs/kmeans/kmeans.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "jobs/api/part_lines.h"
#include "jobs/kmeans/find_centroids.h"
#include "jobs/kmeans/point_check.h"
#include "jobs/kmeans/point_generator.h"
#include "jobs/records/parameters.h"

namespace weir::kmeans {
namespace {

// An element is held by every slot of every worker, and travels.
constexpr std::int64_t kPlacesMax = std::int64_t{1} << 27;

absl::StatusOr<Options> OptionsOf(const ParameterValues& values) {
  Options options;
  options.clusters = IntegerOf(values, "k");
  options.dimensions = IntegerOf(values, "dimensions");
  options.seed = static_cast<std::uint64_t>(IntegerOf(values, "seed"));
  const absl::StatusOr<double> tolerance = NumberOf(values, "tolerance", kFromZeroOn);
  if (!tolerance.ok()) return tolerance.status();
  options.tolerance = *tolerance;
  if (options.clusters > kPlacesMax / (1 + options.dimensions)) {
    return absl::InvalidArgumentError(absl::StrCat("k times (1 + dimensions) is ", options.clusters,
                                                   " times ", 1 + options.dimensions,
                                                   "; it must be at most ", kPlacesMax));
  }
  return options;
}

class Data : public JobData {
 public:
  absl::StatusOr<std::unique_ptr<RecordGenerator>> MakeGenerator(
      const GenerateOptions& options) const override {
    if (!(options.skew >= 0 && options.skew <= 2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the skew is ", options.skew, "; it must be from 0 to 2"));
    }
    return std::make_unique<PointGenerator>(options);
  }
  std::unique_ptr<DataCheck> MakeCheck(DataOrder order) const override {
    return std::make_unique<PointCheck>(order);
  }
};

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "kmeans";
    info_.summary = "Clusters rows of numbers (CSV) around k centroids, iteration by iteration";
    info_.parameters = {
        IntegerParameter("k", 8, 1, 1'000'000, "number of clusters"),
        IntegerParameter("dimensions", 2, 1, 100'000,
                         "numbers in each row; others are bad records"),
        IntegerParameter("seed", 1, 0, 1'000'000'000, "which of the rows are the first centroids"),
        IntegerParameter("iterations", 50, 1, 10'000, "end after so many iterations at the latest"),
        TextParameter("tolerance", "0.0001", "end when no centroid moves further in an iteration")};
    info_.rates = {15e-9, 1e-6, {{4e-9, 1.0}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::Status CheckValues(const ParameterValues& values) const override {
    return OptionsOf(values).status();
  }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    const absl::StatusOr<Options> options = OptionsOf(values);
    if (!options.ok()) return options.status();
    return MakeLoopProgram(FindCentroids(*options));
  }

  absl::StatusOr<std::optional<LoopInfo>> Loop(const ParameterValues& values) const override {
    const absl::StatusOr<Options> options = OptionsOf(values);
    if (!options.ok()) return options.status();
    const FindCentroids job(*options);
    LoopInfo loop;
    loop.iterations = static_cast<std::int32_t>(IntegerOf(values, "iterations"));
    loop.element_places = job.Places();
    loop.state_places = job.StatePlaces();
    // A list of candidates is no sum: it is combined whole.
    loop.first_splits = false;
    // About 1e-9 s a dimension and cluster; a number of a row has about ten bytes.
    loop.iterate_seconds_per_byte = 1e-10 * static_cast<double>(options->clusters);
    loop.combine_seconds_per_byte = 0.3e-9;
    loop.update_seconds_per_byte = 1e-9;
    return loop;
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues&,
                       std::ostream& out) const override {
    return VisitPartLines(part_paths, [&out](std::string_view line) {
      out << line << '\n';
      return absl::OkStatus();
    });
  }

  const JobData* data() const override { return &data_; }

 private:
  JobInfo info_;
  Data data_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::kmeans
