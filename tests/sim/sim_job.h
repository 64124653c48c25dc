#pragma once

// What jobs of the simulation are: descriptions that the master asks, without a program. Upstream:
// world.cc, sim_loop.cc. Downstream: JobDefinition.

#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "jobs/api/job_definition.h"

namespace weir::sim {

/// A job of which the master needs the description only.
class DescribedJob : public JobDefinition {
 public:
  DescribedJob(std::string name, std::string summary) {
    info_.name = std::move(name);
    info_.summary = std::move(summary);
  }
  const JobInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return absl::UnimplementedError("simulated jobs have no program");
  }
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return absl::UnimplementedError("simulated jobs have no result");
  }

 protected:
  JobInfo info_;
};

}  // namespace weir::sim
