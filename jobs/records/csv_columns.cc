#include "jobs/records/csv_columns.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jobs/records/parameters.h"

namespace weir {

bool IsPlainText(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

namespace {

// As a shell has the first line of a file, with what belongs to none of its names: a byte order
// mark before them, a carriage return behind.
std::string_view NamesOf(std::string_view line) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (line.starts_with(kMark)) line.remove_prefix(kMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

void CsvColumns::AddParameters(std::vector<ParameterInfo>& parameters) {
  parameters.push_back(TextParameter(
      "header", "",
      "names of the columns, as the first line has them; rows equal to it are left out"));
  parameters.push_back(
      IntegerParameter("columns", 0, 0, kCsvColumnsMax,
                       "how many columns each row has; 0: as many as the header, or not checked"));
}

absl::StatusOr<CsvColumns> CsvColumns::Of(const ParameterValues& values) {
  CsvColumns columns;
  const std::int64_t count = IntegerOf(values, "columns");
  columns.count_ = static_cast<std::size_t>(count);
  const std::string header(NamesOf(values.at("header")));
  if (!header.empty()) {
    CsvRows split;
    if (!split.Split(header) || !IsPlainText(header)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter 'header' is '", header, "', which is not a line of names parted by commas"));
    }
    for (const std::string_view name : split.row().fields) {
      if (std::find(columns.names_.begin(), columns.names_.end(), name) != columns.names_.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("parameter 'header' names the column '", std::string(name), "' twice"));
      }
      columns.names_.emplace_back(name);
    }
    if (count > 0 && columns.names_.size() != columns.count_) {
      return absl::InvalidArgumentError(absl::StrCat("parameter 'columns' is ", count,
                                                     ", but 'header' has ", columns.names_.size(),
                                                     " names"));
    }
    columns.count_ = columns.names_.size();
  }
  columns.SayMisfit();
  return columns;
}

absl::StatusOr<std::size_t> CsvColumns::Require(const ParameterValues& values,
                                                const std::string& parameter) {
  const std::string& text = values.at(parameter);
  std::size_t index = 0;
  const auto named = std::find(names_.begin(), names_.end(), text);
  std::int64_t number = 0;
  if (named != names_.end()) {
    index = static_cast<std::size_t>(named - names_.begin());
  } else if (absl::SimpleAtoi(text, &number) && number >= 1 &&
             number <= (count_ > 0 ? static_cast<std::int64_t>(count_) : kCsvColumnsMax)) {
    index = static_cast<std::size_t>(number - 1);
  } else {
    const std::string names = names_.empty() ? "" : "a name of the header or ";
    return absl::InvalidArgumentError(
        absl::StrCat("parameter '", parameter, "' is '", text, "'; it must be ", names,
                     "a number of a column from 1 to ", count_ > 0 ? count_ : kCsvColumnsMax));
  }
  least_ = std::max(least_, index + 1);
  SayMisfit();
  return index;
}

std::string CsvColumns::NameOf(std::size_t index) const {
  return names_.empty() ? absl::StrCat(index + 1) : names_[index];
}

bool CsvColumns::HasNames(const CsvRow& row) const {
  return std::equal(row.fields.begin(), row.fields.end(), names_.begin(), names_.end());
}

void CsvColumns::SayMisfit() {
  misfit_ = count_ > 0
                ? absl::StrCat("expected ", count_, count_ == 1 ? " field" : " fields")
                : absl::StrCat("expected at least ", least_, least_ == 1 ? " field" : " fields");
}

}  // namespace weir
