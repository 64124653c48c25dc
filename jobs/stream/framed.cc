#include "jobs/stream/framed.h"

#include <utility>

#include "jobs/stream/framed_program.h"
#include "jobs/stream/framed_spec.h"

namespace weir::stream {
namespace {

class FramedDefinition : public JobDefinition {
 public:
  FramedDefinition() {
    info_.name = "framed";
    info_.summary =
        "Runs programs that read and write frames of typed records, as Python functions";
    info_.parameters = FramedParameters();
    // Words counted by Python functions; what others need is found by sampling, or from earlier
    // runs of the same.
    info_.rates = {25e-9, 1.5, {{25e-9, 0.1}}};
    info_.pairs_follow_from_record = false;
    info_.reduces_on_slots = false;
  }

  const JobInfo& info() const override { return info_; }

  absl::Status CheckValues(const ParameterValues& values) const override {
    return ReadFramedSpec(values).status();
  }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    absl::StatusOr<FramedSpec> spec = ReadFramedSpec(values);
    if (!spec.ok()) return spec.status();
    return MakeFramedProgram(*std::move(spec));
  }

  // The program alone knows what it wrote.
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeFramedDefinition() {
  return std::make_unique<FramedDefinition>();
}

}  // namespace weir::stream
