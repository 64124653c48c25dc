#include "jobs/records/column_choice.h"

#include <map>
#include <utility>

#include "jobs/records/parameters.h"

namespace weir {

void ColumnChoice::AddParameters(std::vector<ParameterInfo>& parameters) {
  parameters.push_back(TextParameter(
      "column", "", "the column to look at, by name or number from 1; without one, all"));
  parameters.push_back(
      TextParameter("key", "", "a result for each value of this column instead; needs 'column'"));
  CsvColumns::AddParameters(parameters);
}

absl::StatusOr<ColumnChoice> ColumnChoice::Of(const ParameterValues& values) {
  absl::StatusOr<CsvColumns> columns = CsvColumns::Of(values);
  if (!columns.ok()) return columns.status();
  ColumnChoice choice;
  choice.columns = *std::move(columns);
  if (values.at("column").empty()) {
    if (!values.at("key").empty()) {
      return absl::InvalidArgumentError("parameter 'key' needs 'column' beside it");
    }
    if (choice.columns.count() == 0) {
      return absl::InvalidArgumentError(
          "nothing says which columns there are: give their number (--set columns=N) or names "
          "(--set header=NAME,NAME), or choose one (--set column=COLUMN)");
    }
    choice.end = choice.columns.count();
    return choice;
  }
  const absl::StatusOr<std::size_t> column = choice.columns.Require(values, "column");
  if (!column.ok()) return column.status();
  choice.begin = *column;
  choice.end = *column + 1;
  if (!values.at("key").empty()) {
    const absl::StatusOr<std::size_t> key = choice.columns.Require(values, "key");
    if (!key.ok()) return key.status();
    choice.key = *key;
  }
  return choice;
}

std::function<bool(std::string_view, std::string_view)> ColumnChoice::OrderOfLines() const {
  if (key) return std::less<>();
  std::map<std::string, std::size_t, std::less<>> indices;
  for (std::size_t i = begin; i < end; ++i) indices.emplace(columns.NameOf(i), i);
  const auto index_of = [indices = std::move(indices)](std::string_view line) {
    const auto found = indices.find(line.substr(0, line.find('\t')));
    return found == indices.end() ? indices.size() : found->second;
  };
  return [index_of](std::string_view a, std::string_view b) { return index_of(a) < index_of(b); };
}

}  // namespace weir
