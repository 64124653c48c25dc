#include "jobs/distinct/distinct.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/distinct/count_distinct.h"
#include "jobs/engine/make_program.h"
#include "jobs/records/column_choice.h"
#include "jobs/records/csv_check.h"
#include "jobs/records/first_lines.h"
#include "jobs/records/random_numbers.h"

namespace weir::distinct {
namespace {

// Rows "kN,vM": 100 keys, each with its own number of distinct values, up to a million.
class Rows : public RecordGenerator {
 public:
  explicit Rows(const GenerateOptions& options) : options_(options) {}

  void Append(std::int64_t number, std::string& out) override {
    const auto n = static_cast<std::uint64_t>(number);
    const std::uint64_t key = SkewedRank(RandomOf(options_.seed, n, 0), options_.skew, kKeys);
    const std::uint64_t value = SkewedRank(RandomOf(options_.seed, n, 1), 0, kValues * (key + 1));
    absl::StrAppend(&out, "k", key, ",v", value, "\n");
  }

 private:
  static constexpr std::uint64_t kKeys = 100;
  static constexpr std::uint64_t kValues = 10'000;
  const GenerateOptions options_;
};

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "distinct";
    info_.summary = "Counts distinct values of CSV columns, or of one for each key (HyperLogLog)";
    ColumnChoice::AddParameters(info_.parameters);
    AddShowParameter(info_.parameters);
    // Measured on 2 million generated rows, 23 MB, by 100 keys, one slot; other work was on the
    // machine.
    info_.rates = {14e-9, 0.07, {{4e-9, 0.001}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::Status CheckValues(const ParameterValues& values) const override {
    return ColumnChoice::Of(values).status();
  }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    absl::StatusOr<ColumnChoice> choice = ColumnChoice::Of(values);
    if (!choice.ok()) return choice.status();
    if (choice->key) return MakeJobProgram(DistinctOfKeys(*std::move(choice)));
    return MakeJobProgram(DistinctOfColumns(*std::move(choice)));
  }

  ElementInfo Element(const ParameterValues& values, int) const override {
    return values.at("key").empty() ? ElementOf<DistinctOfColumns>() : ElementOf<DistinctOfKeys>();
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

}  // namespace weir::distinct
