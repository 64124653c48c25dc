#include "planner/instances/solvers/instance_fields.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir::planner::tree {

absl::Status InstanceFields::Error(std::string_view field, std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(
      "instance \"", id_, "\", field \"", absl::string_view(field.data(), field.size()),
      "\": ", absl::string_view(what.data(), what.size())));
}

absl::Status InstanceFields::Locate(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("instance \"", id_, "\": ", status.message()));
}

absl::Status InstanceFields::LocateOnce(const absl::Status& status) const {
  return absl::StartsWith(status.message(), absl::StrCat("instance \"", id_, "\""))
             ? status
             : Locate(status);
}

void InstanceFields::Note(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

const nlohmann::json* InstanceFields::Find(const std::string& field) {
  const auto at = input_.find(field);
  if (at != input_.end()) return &*at;
  Note(Error(field, "is missing"));
  return nullptr;
}

std::int64_t InstanceFields::ToInteger(const nlohmann::json& value, const std::string& field) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > 9'000'000'000'000'000'000U) {
    Note(Error(field, "is above 9e18"));
    return 0;
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::floor(number) == number && std::abs(number) < 9e15)
      return static_cast<std::int64_t>(number);
  }
  Note(Error(field, absl::StrCat("is ", value.dump(), "; it must be a whole number")));
  return 0;
}

double InstanceFields::ToNumber(const nlohmann::json& value, const std::string& field) {
  if (value.is_number()) return value.get<double>();
  Note(Error(field, absl::StrCat("is ", value.dump(), "; it must be a number")));
  return 0;
}

std::int64_t InstanceFields::Integer(const std::string& field) {
  const nlohmann::json* value = Find(field);
  return value == nullptr ? 0 : ToInteger(*value, field);
}

std::int32_t InstanceFields::SmallInteger(const std::string& field) {
  const std::int64_t value = Integer(field);
  if (value >= std::numeric_limits<std::int32_t>::min() &&
      value <= std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::int32_t>(value);
  }
  Note(Error(field, absl::StrCat("is ", value, "; it must fit in 32 bits")));
  return 0;
}

double InstanceFields::Number(const std::string& field) {
  const nlohmann::json* value = Find(field);
  return value == nullptr ? 0 : ToNumber(*value, field);
}

std::vector<double> InstanceFields::Numbers(const std::string& field) {
  std::vector<double> numbers;
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return numbers;
  if (!value->is_array()) {
    Note(Error(field, "must be a list of numbers"));
    return numbers;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    numbers.push_back(ToNumber((*value)[i], absl::StrCat(field, "[", i, "]")));
  }
  return numbers;
}

std::vector<std::int64_t> InstanceFields::Integers(const std::string& field) {
  std::vector<std::int64_t> integers;
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return integers;
  if (!value->is_array()) {
    Note(Error(field, "must be a list of whole numbers"));
    return integers;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    integers.push_back(ToInteger((*value)[i], absl::StrCat(field, "[", i, "]")));
  }
  return integers;
}

std::vector<std::vector<std::int64_t>> InstanceFields::IntegerRows(const std::string& field) {
  std::vector<std::vector<std::int64_t>> rows;
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return rows;
  if (!value->is_array()) {
    Note(Error(field, "must be a list of rows"));
    return rows;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    const std::string row_name = absl::StrCat(field, "[", i, "]");
    rows.emplace_back();
    if (!(*value)[i].is_array()) {
      Note(Error(row_name, "must be a list of whole numbers"));
      continue;
    }
    for (std::size_t j = 0; j < (*value)[i].size(); ++j) {
      rows.back().push_back(ToInteger((*value)[i][j], absl::StrCat(row_name, "[", j, "]")));
    }
  }
  return rows;
}

std::int64_t InstanceFields::IntegerOr(const std::string& field, std::int64_t absent) {
  return Has(field) ? Integer(field) : absent;
}

double InstanceFields::NumberOr(const std::string& field, double absent) {
  return Has(field) ? Number(field) : absent;
}

bool InstanceFields::BooleanOr(const std::string& field, bool absent) {
  if (!Has(field)) return absent;
  const nlohmann::json& value = input_[field];
  if (value.is_boolean()) return value.get<bool>();
  Note(Error(field, absl::StrCat("is ", value.dump(), "; it must be true or false")));
  return absent;
}

std::string InstanceFields::TextOr(const std::string& field, const std::string& absent) {
  if (!Has(field)) return absent;
  const nlohmann::json& value = input_[field];
  if (value.is_string()) return value.get<std::string>();
  Note(Error(field, absl::StrCat("is ", value.dump(), "; it must be text")));
  return absent;
}

std::vector<double> InstanceFields::NumbersIfAny(const std::string& field) {
  return Has(field) ? Numbers(field) : std::vector<double>();
}

}  // namespace weir::planner::tree
