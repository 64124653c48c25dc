#pragma once

// Reads the input fields of one instance; every error names instance and field.
// Upstream: solve_instances. Downstream: the solve_*.cc of this folder.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::planner::tree {

/// Ordered, so that results print in the order in which they are set.
using ResultJson = nlohmann::ordered_json;

/// The fields of one instance. Remembers the first error, so that a solver reads all its fields and
/// asks once.
class InstanceFields {
 public:
  /// `input` must outlive this object.
  InstanceFields(std::string id, const nlohmann::json& input) : id_(std::move(id)), input_(input) {}

  /// Each returns the field, or zero / nothing after noting kInvalidArgument when it is missing or
  /// of another type.
  std::int64_t Integer(const std::string& field);
  std::int32_t SmallInteger(const std::string& field);
  double Number(const std::string& field);
  std::vector<double> Numbers(const std::string& field);
  std::vector<std::int64_t> Integers(const std::string& field);
  std::vector<std::vector<std::int64_t>> IntegerRows(const std::string& field);

  /// True when the instance has the field; the ones below are optional and return `absent` without
  /// it.
  bool Has(const std::string& field) const { return input_.contains(field); }
  std::int64_t IntegerOr(const std::string& field, std::int64_t absent);
  double NumberOr(const std::string& field, double absent);
  bool BooleanOr(const std::string& field, bool absent);
  std::string TextOr(const std::string& field, const std::string& absent);
  /// Nothing without it.
  std::vector<double> NumbersIfAny(const std::string& field);

  /// The first error met while reading.
  const absl::Status& status() const { return status_; }

  /// Returns an error of this instance: `what` behind its id and, if not empty, its field.
  absl::Status Error(std::string_view field, std::string_view what) const;

  /// Returns `status` with the instance's id before its message, code kept.
  absl::Status Locate(const absl::Status& status) const;

  /// The same, unless it names the instance already.
  absl::Status LocateOnce(const absl::Status& status) const;

  /// Notes an error unless one is noted already.
  void Note(absl::Status status);

 private:
  const nlohmann::json* Find(const std::string& field);
  std::int64_t ToInteger(const nlohmann::json& value, const std::string& field);
  double ToNumber(const nlohmann::json& value, const std::string& field);

  std::string id_;
  const nlohmann::json& input_;
  absl::Status status_;
};

}  // namespace weir::planner::tree
