#include "jobs/quantiles/quantiles.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "jobs/engine/make_program.h"
#include "jobs/quantiles/find_quantiles.h"
#include "jobs/quantiles/percentiles.h"
#include "jobs/records/column_choice.h"
#include "jobs/records/csv_check.h"
#include "jobs/records/first_lines.h"
#include "jobs/records/parameters.h"
#include "jobs/records/random_numbers.h"

namespace weir::quantiles {
namespace {

// Rows "kN,number": 100 keys; numbers of all magnitudes from 0.001 to 1000000, one in four of them
// negative, one in sixteen zero.
class Rows : public RecordGenerator {
 public:
  explicit Rows(const GenerateOptions& options) : options_(options) {}

  void Append(std::int64_t number, std::string& out) override {
    const auto n = static_cast<std::uint64_t>(number);
    const std::uint64_t key = SkewedRank(RandomOf(options_.seed, n, 0), options_.skew, 100);
    const std::uint64_t random = RandomOf(options_.seed, n, 1);
    std::uint64_t scale = 1;
    for (std::uint64_t i = (random >> 8) % 6; i > 0; --i) scale *= 10;
    std::uint64_t thousandths = (1 + SkewedRank(RandomOf(options_.seed, n, 2), 0, 9999)) * scale;
    if (random % 16 == 0) thousandths = 0;
    absl::StrAppendFormat(&out, "k%d,%s%d.%03d\n", key,
                          random % 4 == 1 && thousandths > 0 ? "-" : "", thousandths / 1000,
                          thousandths % 1000);
  }

 private:
  const GenerateOptions options_;
};

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "quantiles";
    info_.summary = "Quantiles of the numbers in CSV columns, or of one for each key (DDSketch)";
    ColumnChoice::AddParameters(info_.parameters);
    info_.parameters.push_back(TextParameter(
        "percentiles", "50,90,99", "which quantiles: numbers from 0 to 100, parted by commas"));
    AddShowParameter(info_.parameters);
    // Measured on 2 million generated rows, 25 MB, by 100 keys, one slot; other work was on the
    // machine.
    info_.rates = {40e-9, 0.1, {{5e-9, 0.001}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::Status CheckValues(const ParameterValues& values) const override {
    if (auto choice = ColumnChoice::Of(values); !choice.ok()) return choice.status();
    return ParsePercentiles(values.at("percentiles")).status();
  }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    absl::StatusOr<ColumnChoice> choice = ColumnChoice::Of(values);
    if (!choice.ok()) return choice.status();
    absl::StatusOr<std::vector<Percentile>> percentiles =
        ParsePercentiles(values.at("percentiles"));
    if (!percentiles.ok()) return percentiles.status();
    if (choice->key) {
      return MakeJobProgram(QuantilesOfKeys(*std::move(choice), *std::move(percentiles)));
    }
    return MakeJobProgram(QuantilesOfColumns(*std::move(choice), *std::move(percentiles)));
  }

  ElementInfo Element(const ParameterValues& values, int) const override {
    return values.at("key").empty() ? ElementOf<QuantilesOfColumns>()
                                    : ElementOf<QuantilesOfKeys>();
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues& values,
                       std::ostream& out) const override {
    const absl::StatusOr<ColumnChoice> choice = ColumnChoice::Of(values);
    if (!choice.ok()) return choice.status();
    return PresentFirstLines(part_paths, values, choice->OrderOfLines(), out);
  }

  const JobData* data() const override { return &data_; }

 private:
  JobInfo info_;
  CsvData<Rows, 2> data_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::quantiles
