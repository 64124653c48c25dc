// Two built-in jobs as a module: the same code, compiled and linked as a user's.

#include <memory>

#include "jobs/api/module.h"
#include "jobs/distinct/distinct.h"
#include "jobs/wordcount/wordcount.h"

namespace {

// A built-in definition as one that WEIR_MODULE can make.
template <std::unique_ptr<weir::JobDefinition> (*make)()>
class Same final : public weir::JobDefinition {
 public:
  const weir::JobInfo& info() const override { return job_->info(); }
  absl::Status CheckValues(const weir::ParameterValues& values) const override {
    return job_->CheckValues(values);
  }
  absl::StatusOr<std::unique_ptr<weir::JobProgram>> MakeProgram(
      const weir::ParameterValues& values) const override {
    return job_->MakeProgram(values);
  }
  weir::ElementInfo Element(const weir::ParameterValues& values, int layer) const override {
    return job_->Element(values, layer);
  }
  absl::Status Present(absl::Span<const std::string> part_paths,
                       const weir::ParameterValues& values, std::ostream& out) const override {
    return job_->Present(part_paths, values, out);
  }

 private:
  const std::unique_ptr<weir::JobDefinition> job_ = make();
};

}  // namespace

WEIR_MODULE(Same<weir::wordcount::MakeDefinition>, Same<weir::distinct::MakeDefinition>)
