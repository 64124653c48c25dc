#include "jobs/stream/framed_spec.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "jobs/records/parameters.h"
#include "jobs/stream/contract/command_words.h"
#include "jobs/stream/contract/properties.h"

namespace weir::stream {
namespace {

constexpr std::int64_t kSilenceSecondsMax = std::int64_t{365} * 24 * 3600;

}  // namespace

std::vector<ParameterInfo> FramedParameters() {
  return {TextParameter("mapper", "",
                        "command that reads text and writes pairs, in frames; no shell sees it"),
          TextParameter("reducer", "",
                        "command that reads groups of pairs and writes the result; empty: what the "
                        "mapper writes is the result"),
          TextParameter("environment", "", "lines NAME=VALUE for the environment of the programs"),
          IntegerParameter("silence_s", 600, 0, kSilenceSecondsMax,
                           "seconds that a program may neither read nor write; 0: for ever")};
}

absl::StatusOr<FramedSpec> ReadFramedSpec(const ParameterValues& values) {
  FramedSpec spec;
  for (auto [name, command] : {std::pair("mapper", &spec.mapper), {"reducer", &spec.reducer}}) {
    command->text = values.at(name);
    command->words = SplitCommand(command->text);
  }
  if (spec.mapper.words.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter 'mapper' must be a command; it is '", spec.mapper.text, "'"));
  }
  auto environment = ReadNameValueLines(values.at("environment"));
  if (!environment.ok()) return environment.status();
  spec.environment = *std::move(environment);
  spec.scripts.reporter_prefix = "reporter:";
  spec.scripts.silence_ms = weir::IntegerOf(values, "silence_s") * 1000;
  return spec;
}

}  // namespace weir::stream
