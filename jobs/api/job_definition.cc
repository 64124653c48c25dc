#include "jobs/api/job_definition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir {

absl::Status JobDefinition::CheckValues(const ParameterValues&) const { return absl::OkStatus(); }

ElementInfo JobDefinition::Element(const ParameterValues&, int) const { return {}; }

absl::StatusOr<std::optional<LoopInfo>> JobDefinition::Loop(const ParameterValues&) const {
  return std::nullopt;
}

namespace {

// Letters to insert, delete or replace. The rows are short: both are names of parameters.
std::size_t LettersApart(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

absl::Status UnknownName(const JobInfo& info, const std::string& given) {
  if (info.parameters.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("job '", info.name, "' has no parameters, but '", given, "' was set"));
  }
  std::vector<std::string> names;
  std::string nearest;
  std::size_t nearest_letters = 3;
  for (const ParameterInfo& parameter : info.parameters) {
    names.push_back(parameter.name);
    const std::size_t letters =
        given.size() > 100 ? given.size() : LettersApart(given, parameter.name);
    if (letters < nearest_letters) {
      nearest_letters = letters;
      nearest = parameter.name;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("job '", info.name, "' has no parameter '", given, "'.",
                   nearest.empty() ? "" : absl::StrCat(" Did you mean '", nearest, "'?"),
                   " Its parameters: ", absl::StrJoin(names, ", ")));
}

absl::Status CheckValue(const ParameterInfo& parameter, const std::string& value) {
  if (parameter.type == ParameterInfo::Type::kInteger) {
    std::int64_t number = 0;
    if (!absl::SimpleAtoi(value, &number) || number < parameter.min || number > parameter.max) {
      return absl::InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' is '", value,
                                                     "'; it must be a whole number from ",
                                                     parameter.min, " to ", parameter.max));
    }
    return absl::OkStatus();
  }
  if (!parameter.choices.empty() && std::find(parameter.choices.begin(), parameter.choices.end(),
                                              value) == parameter.choices.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter '", parameter.name, "' is '", value,
                     "'; it must be one of: ", absl::StrJoin(parameter.choices, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ParameterValues> CheckParameters(
    const JobInfo& info, absl::Span<const std::pair<std::string, std::string>> given) {
  ParameterValues values;
  for (const auto& [name, value] : given) {
    const auto parameter =
        std::find_if(info.parameters.begin(), info.parameters.end(),
                     [&name = name](const ParameterInfo& known) { return known.name == name; });
    if (parameter == info.parameters.end()) return UnknownName(info, name);
    if (!values.emplace(name, value).second) {
      return absl::InvalidArgumentError(absl::StrCat("parameter '", name, "' is set twice"));
    }
    if (absl::Status status = CheckValue(*parameter, value); !status.ok()) return status;
  }
  for (const ParameterInfo& parameter : info.parameters) {
    values.emplace(parameter.name, parameter.default_value);
  }
  return values;
}

}  // namespace weir
