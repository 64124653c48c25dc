#include "jobs/topwords/topwords.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "jobs/engine/value_program.h"
#include "jobs/records/first_lines.h"
#include "jobs/topwords/top_words.h"

namespace weir::topwords {
namespace {

constexpr std::int64_t kTopMax = 100'000;
constexpr std::int64_t kLog2WidthMax = 24;

TopWords JobOf(const ParameterValues& values) {
  std::int64_t top = 0, log2_width = 0, candidates = 0;
  // CheckParameters has seen that they are numbers in their ranges.
  (void)absl::SimpleAtoi(values.at("top"), &top);
  (void)absl::SimpleAtoi(values.at("log2-width"), &log2_width);
  (void)absl::SimpleAtoi(values.at("candidates"), &candidates);
  const SketchForm form{std::int64_t{1} << log2_width, static_cast<std::size_t>(candidates)};
  return TopWords(form, static_cast<std::size_t>(top));
}

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "topwords";
    info_.summary = "Finds the most frequent words of text in bounded memory (Count-Min sketch)";
    const auto add = [this](std::string name, std::string default_value, std::int64_t min,
                            std::int64_t max, std::string help) {
      ParameterInfo& parameter = info_.parameters.emplace_back();
      parameter.name = std::move(name);
      parameter.type = ParameterInfo::Type::kInteger;
      parameter.default_value = std::move(default_value);
      parameter.min = min;
      parameter.max = max;
      parameter.help = std::move(help);
    };
    add("top", "100", 1, kTopMax, "how many words the result has at most");
    add("candidates", "1000", 1, kTopMax,
        "words that are kept by name: one that makes up more than 1 of so many is never missed");
    add("log2-width", "16", 4, kLog2WidthMax,
        "cells of each of the sketch's 4 rows, as a power of two; counts are too large by e / "
        "cells "
        "of all words at most, nearly always");
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
