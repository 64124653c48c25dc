#include "jobs/onebrc/onebrc.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "jobs/api/part_lines.h"
#include "jobs/engine/make_program.h"
#include "jobs/onebrc/summarize_stations.h"

namespace weir::onebrc {

std::string_view WhatIsWrong(std::string_view row) {
  const std::size_t separator = row.find(';');
  if (row.empty()) return "empty row; expected station;temperature";
  if (separator == std::string_view::npos) return "no ';' between station and temperature";
  if (separator == 0) return "no station before ';'";
  if (separator > kStationBytesMax) return "station longer than 100 bytes";
  if (row.back() == '\r') {
    return "carriage return at the end of the row (lines must end with a newline alone)";
  }
  return "temperature is not a number from -99.9 to 99.9 with one decimal";
}

namespace {

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "onebrc";
    info_.summary = "Minimum, mean and maximum of rows \"station;temperature\", by station";
    // Measured on 64 MB of rows over 413 stations, two workers of one slot on two cores of an AMD
    // EPYC, the unit of rates (compute_kernel.h): medians of three times seven runs 1.4e-9 to
    // 1.7e-9 beyond the steps' overheads (predict.py). An Intel Xeon with AVX-512 took 0.85e-9.
    info_.rates = {1.5e-9, 1e-5, {{10e-9, 1.0}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return MakeJobProgram(SummarizeStations());
  }

  ElementInfo Element(const ParameterValues&, int) const override {
    return ElementOf<SummarizeStations>();
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues&,
                       std::ostream& out) const override {
    // Sorted by station, not by line: a station may be the beginning of another's name.
    std::vector<std::pair<std::string, std::string>> stations;
    absl::Status status = VisitPartLines(part_paths, [&stations](std::string_view line) {
      const std::size_t equals = line.rfind('=');
      if (equals == std::string_view::npos) return DamagedPartLine(line);
      stations.emplace_back(line.substr(0, equals), line.substr(equals + 1));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    std::sort(stations.begin(), stations.end());
    out << '{';
    const char* between = "";
    for (const auto& [station, summary] : stations) {
      out << std::exchange(between, ", ") << station << '=' << summary;
    }
    out << "}\n";
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::onebrc
