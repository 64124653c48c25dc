#include "jobs/histogram/histogram.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "jobs/engine/vector_program.h"
#include "jobs/histogram/count_bins.h"
#include "jobs/records/column_choice.h"
#include "jobs/records/csv_check.h"
#include "jobs/records/first_lines.h"
#include "jobs/records/number.h"
#include "jobs/records/parameters.h"
#include "jobs/records/random_numbers.h"

namespace weir::histogram {
namespace {

// Rows "number": thousandths from 0 to 1000, more in the middle than at the ends, or, with a skew,
// near 0.
class Rows : public RecordGenerator {
 public:
  explicit Rows(const GenerateOptions& options) : options_(options) {}

  void Append(std::int64_t number, std::string& out) override {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 4; ++i) {
      sum += SkewedRank(RandomOf(options_.seed, static_cast<std::uint64_t>(number), i),
                        options_.skew, 250'001);
    }
    absl::StrAppendFormat(&out, "%d.%03d\n", sum / 1000, sum % 1000);
  }

 private:
  const GenerateOptions options_;
};

absl::StatusOr<CountBins> JobOf(const ParameterValues& values) {
  absl::StatusOr<CsvColumns> columns = CsvColumns::Of(values);
  if (!columns.ok()) return columns.status();
  const absl::StatusOr<std::size_t> column = columns->Require(values, "column");
  if (!column.ok()) return column.status();
  const absl::StatusOr<double> min = NumberOf(values, "min", kAnyNumber);
  if (!min.ok()) return min.status();
  const absl::StatusOr<double> max = NumberOf(values, "max", kAnyNumber);
  if (!max.ok()) return max.status();
  const absl::StatusOr<EqualBins> bins = EqualBins::Of(*min, *max, IntegerOf(values, "bins"));
  if (!bins.ok()) return bins.status();
  return CountBins({*std::move(columns), *column, *column + 1, std::nullopt}, *bins);
}

// Where the bin of a line begins.
double BeginOf(std::string_view line) {
  double begin = -std::numeric_limits<double>::infinity();
  ParseNumber(line.substr(0, line.find('\t')), begin);
  return begin;
}

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "histogram";
    info_.summary = "Counts the numbers of a CSV column in bins of equal width";
    info_.parameters = {
        TextParameter("column", "1", "the column to count, by name or number from 1"),
        TextParameter("min", "0",
                      "where the first bin begins; smaller numbers are counted together"),
        TextParameter(
            "max", "1",
            "where the last bin ends, itself included; greater ones are counted together"),
        IntegerParameter("bins", 10, 1, kBinsMax, "how many bins")};
    CsvColumns::AddParameters(info_.parameters);
    AddShowParameter(info_.parameters);
    // Measured on 3 million generated rows, 24 MB, one slot, on a machine with other work: mapping
    // into 1000 bins, reducing (which writes text) a million.
    info_.rates = {17e-9, 1e-4, {{250e-9, 2.5}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::Status CheckValues(const ParameterValues& values) const override {
    return JobOf(values).status();
  }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    absl::StatusOr<CountBins> job = JobOf(values);
    if (!job.ok()) return job.status();
    return MakeVectorProgram(*std::move(job));
  }

  ElementInfo Element(const ParameterValues& values, int) const override {
    const absl::StatusOr<CountBins> job = JobOf(values);
    return job.ok() ? VectorElement(*job) : ElementInfo();
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues& values,
                       std::ostream& out) const override {
    return PresentFirstLines(
        part_paths, values,
        [](std::string_view a, std::string_view b) { return BeginOf(a) < BeginOf(b); }, out);
  }

  const JobData* data() const override { return &data_; }

 private:
  JobInfo info_;
  CsvData<Rows, 1> data_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::histogram
