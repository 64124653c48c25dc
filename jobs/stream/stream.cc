#include "jobs/stream/stream.h"

#include <utility>

#include "jobs/stream/contract/stream_spec.h"
#include "jobs/stream/stream_program.h"

namespace weir::stream {
namespace {

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "stream";
    info_.summary = "Runs scripts as mapper and reducer, by the contract of Hadoop Streaming";
    info_.parameters = StreamParameters();
    // Words counted by Python; what a script really needs is found by sampling, or from earlier
    // runs of the same commands.
    info_.rates = {60e-9, 1.4, {{60e-9, 0.1}}};
    info_.pairs_follow_from_record = false;
    info_.reduces_on_slots = false;
  }

  const JobInfo& info() const override { return info_; }

  absl::Status CheckValues(const ParameterValues& values) const override {
    return ReadStreamSpec(values).status();
  }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    absl::StatusOr<StreamSpec> spec = ReadStreamSpec(values);
    if (!spec.ok()) return spec.status();
    return MakeStreamProgram(*std::move(spec));
  }

  // Only the user knows what the lines mean; the client shows the first of them.
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::stream
