#include "jobs/topwords/topwords.h"

#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "jobs/engine/value_program.h"
#include "jobs/records/first_lines.h"
#include "jobs/records/parameters.h"
#include "jobs/topwords/top_words.h"

namespace weir::topwords {
namespace {

constexpr std::int64_t kTopMax = 100'000;
constexpr std::int64_t kLog2WidthMax = 24;

TopWords JobOf(const ParameterValues& values) {
  const SketchForm form{std::int64_t{1} << IntegerOf(values, "log2-width"),
                        static_cast<std::size_t>(IntegerOf(values, "candidates"))};
  return TopWords(form, static_cast<std::size_t>(IntegerOf(values, "top")));
}

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "topwords";
    info_.summary = "Finds the most frequent words of text in bounded memory (Count-Min sketch)";
    info_.parameters = {
        IntegerParameter("top", 100, 1, kTopMax, "how many words the result has at most"),
        IntegerParameter("candidates", 1000, 1, kTopMax,
                         "words that are kept by name: one that makes up more than 1 of so many is "
                         "never missed"),
        IntegerParameter("log2-width", 16, 4, kLog2WidthMax,
                         "cells of each of the sketch's 4 rows, as a power of two; counts are too "
                         "large by e / cells of all words at most, nearly always")};
    AddShowParameter(info_.parameters);
    info_.rates = {60e-9, 1e-3, {{4e-9, 1e-3}}};
  }

  const JobInfo& info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    return MakeValueProgram(JobOf(values));
  }

  ElementInfo Element(const ParameterValues& values, int) const override {
    return ValueElement(JobOf(values));
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues& values,
                       std::ostream& out) const override {
    const auto count_of = [](std::string_view line) {
      std::int64_t count = 0;
      return absl::SimpleAtoi(std::string(line.substr(line.rfind('\t') + 1)), &count) ? count : 0;
    };
    return PresentFirstLines(
        part_paths, values,
        [&](std::string_view a, std::string_view b) { return count_of(a) > count_of(b); }, out);
  }

 private:
  JobInfo info_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::topwords
