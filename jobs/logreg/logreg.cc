#include "jobs/logreg/logreg.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "jobs/logreg/fit_weights.h"
#include "jobs/records/csv_check.h"
#include "jobs/records/csv_columns.h"
#include "jobs/records/first_lines.h"
#include "jobs/records/parameters.h"
#include "jobs/records/random_numbers.h"

namespace weir::logreg {
namespace {

constexpr std::size_t kGeneratedFeatures = 8;

// Rows "label,x1,...,x8": numbers in [-1, 1), labels by hidden weights of a seed; a skew draws
// the numbers towards -1.
class LabelledRows : public RecordGenerator {
 public:
  explicit LabelledRows(const GenerateOptions& options) : options_(options) {}

  void Append(std::int64_t number, std::string& out) override {
    constexpr std::uint64_t kSteps = 2'000'001;  // millionths
    const auto row = static_cast<std::uint64_t>(number) + 1;
    double margin = 0;
    std::string fields;
    for (std::uint64_t i = 0; i < kGeneratedFeatures; ++i) {
      const std::uint64_t rank = SkewedRank(RandomOf(options_.seed, row, i), options_.skew, kSteps);
      const double value = static_cast<double>(rank) * 1e-6 - 1;
      const double weight = static_cast<double>(RandomOf(options_.seed, 0, i) % 1000) / 100 - 5;
      margin += weight * value;
      absl::StrAppendFormat(&fields, ",%.6f", value);
    }
    const double draw =
        static_cast<double>(RandomOf(options_.seed, row, kGeneratedFeatures) >> 11) * 0x1p-53;
    absl::StrAppend(&out, draw * (1 + std::exp(-margin)) < 1 ? "1" : "0", fields, "\n");
  }

 private:
  const GenerateOptions options_;
};

absl::StatusOr<Options> OptionsOf(const ParameterValues& values) {
  Options options;
  absl::StatusOr<CsvColumns> columns = CsvColumns::Of(values);
  if (!columns.ok()) return columns.status();
  const absl::StatusOr<std::size_t> label = columns->Require(values, "label");
  if (!label.ok()) return label.status();
  options.label = *label;
  const std::int64_t features = IntegerOf(values, "features");
  options.hashed = features > 0;
  options.features = options.hashed ? features : static_cast<std::int64_t>(columns->count()) - 1;
  if (options.features < 1) {
    return absl::InvalidArgumentError(
        columns->count() == 0
            ? "say how many columns a row has (--set columns=N or --set header=...), or hash their "
              "fields (--set features=N)"
            : "there is no column beside the label");
  }
  options.columns = *std::move(columns);
  for (const auto& [name, field, range] :
       {std::tuple("rate", &options.rate, kAboveZero), std::tuple("l2", &options.l2, kFromZeroOn),
        std::tuple("tolerance", &options.tolerance, kFromZeroOn)}) {
    const absl::StatusOr<double> number = NumberOf(values, name, range);
    if (!number.ok()) return number.status();
    *field = *number;
  }
  return options;
}

// Loss, rows and intercept in front of the weights, these by their numbers.
std::int64_t RankOf(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(','));
  if (name == "loss") return -3;
  if (name == "rows") return -2;
  if (name == "intercept") return -1;
  std::int64_t number = 0;
  (void)absl::SimpleAtoi(absl::string_view(name.data(), name.size()), &number);
  return number;
}

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "logreg";
    info_.summary = "Fits a logistic regression to CSV rows by gradient descent";
    info_.parameters = {
        TextParameter("label", "1", "the column with the label, 0 or 1, by name or number from 1"),
        IntegerParameter("features", 0, 0, kFeaturesMax,
                         "weights that fields are hashed to; 0: each column is a number with its "
                         "weight"),
        TextParameter("rate", "0.1", "how far an iteration moves against the gradient; above 0"),
        TextParameter("l2", "0", "times half the squared weights is added to the loss; from 0 on"),
        TextParameter("tolerance", "0.000001", "end when an iteration changes the loss by no more"),
        IntegerParameter("iterations", 100, 1, 10'000,
                         "end after so many iterations at the latest")};
    CsvColumns::AddParameters(info_.parameters);
    AddShowParameter(info_.parameters);
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
    return MakeLoopProgram(FitWeights(*options));
  }

  absl::StatusOr<std::optional<LoopInfo>> Loop(const ParameterValues& values) const override {
    const absl::StatusOr<Options> options = OptionsOf(values);
    if (!options.ok()) return options.status();
    const FitWeights job(*options);
    LoopInfo loop;
    loop.iterations = static_cast<std::int32_t>(IntegerOf(values, "iterations"));
    loop.element_places = job.Places();
    loop.state_places = job.StatePlaces();
    loop.commutative = true;
    loop.element_wise = FitWeights::kElementWise;
    // A number of a row has about ten bytes, and takes two multiplications; hashed, two lookups.
    loop.iterate_seconds_per_byte = options->hashed ? 1e-9 : 0.3e-9;
    loop.combine_seconds_per_byte = 0.3e-9;
    loop.update_seconds_per_byte = 0.5e-9;
    return loop;
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues& values,
                       std::ostream& out) const override {
    return PresentFirstLines(
        part_paths, values,
        [](std::string_view a, std::string_view b) { return RankOf(a) < RankOf(b); }, out);
  }

  const JobData* data() const override { return &data_; }

 private:
  JobInfo info_;
  CsvData<LabelledRows, 1 + kGeneratedFeatures> data_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::logreg
