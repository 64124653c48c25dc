#include "jobs/terasort/terasort.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "jobs/engine/make_program.h"
#include "jobs/records/random_numbers.h"
#include "jobs/terasort/record_check.h"
#include "jobs/terasort/record_generator.h"
#include "jobs/terasort/sort_records.h"

namespace weir::terasort {
namespace {

class Data : public JobData {
 public:
  absl::StatusOr<std::unique_ptr<RecordGenerator>> MakeGenerator(
      const GenerateOptions& options) const override {
    if (absl::Status status = CheckSkew(options); !status.ok()) return status;
    return std::make_unique<TeraRecords>(options);
  }
  std::unique_ptr<DataCheck> MakeCheck(DataOrder order) const override {
    return std::make_unique<RecordCheck>(order);
  }
};

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "terasort";
    info_.summary =
        "Sorts 100-byte records by their 10-byte keys; the parts one after the other are sorted";
    // Measured on 64 MB to 1 GB of uniform records, two workers of one slot; reducing took 0.6e-9
    // to 1.5e-9, more with more sections to merge. Runs hold two bytes more a record.
    info_.rates = {1.5e-9, 1.02, {{0.9e-9, 1 / 1.02}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return MakeJobProgram(SortRecords());
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues&,
                       std::ostream& out) const override {
    std::uintmax_t bytes = 0;
    for (const std::string& path : part_paths) {
      std::error_code error;
      bytes += std::filesystem::file_size(path, error);
      if (error) {
        return absl::NotFoundError(
            absl::StrCat("cannot see output part ", path, ": ", error.message()));
      }
    }
    out << bytes / kRecordBytes << " records sorted into " << part_paths.size()
        << (part_paths.size() == 1 ? " part" : " parts") << '\n';
    return absl::OkStatus();
  }

  const JobData* data() const override { return &data_; }

 private:
  JobInfo info_;
  Data data_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::terasort
