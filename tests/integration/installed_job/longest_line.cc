// A JobDefinition with what is installed, and the line that makes the library a module.

#include "jobs/longest_line.h"

#include <weir/job_definition.h>
#include <weir/module.h>
#include <weir/part_lines.h>

namespace {

class Definition : public weir::JobDefinition {
 public:
  Definition() {
    info_.name = "longest_line";
    info_.summary = "Finds the longest text of each user";
    weir::ParameterInfo least;
    least.name = "least";
    least.type = weir::ParameterInfo::Type::kInteger;
    least.default_value = "0";
    least.max = 1000;
    info_.parameters.push_back(least);
  }

  const weir::JobInfo& info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<weir::JobProgram>> MakeProgram(
      const weir::ParameterValues&) const override {
    return weir::MakeJobProgram(LongestLine());
  }

  weir::ElementInfo Element(const weir::ParameterValues&, int) const override {
    return weir::ElementOf<LongestLine>();
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const weir::ParameterValues&,
                       std::ostream& out) const override {
    return weir::VisitPartLines(part_paths, [&out](std::string_view line) {
      out << line << '\n';
      return absl::OkStatus();
    });
  }

 private:
  weir::JobInfo info_;
};

}  // namespace

WEIR_MODULE(Definition)
