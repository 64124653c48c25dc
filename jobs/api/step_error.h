#pragma once

// Named errors of a step that are not about one record. Upstream: readers and the engine.
// Downstream: the task makes a named job error of them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace weir {

namespace step_error {
inline constexpr std::string_view kInputNotFound = "INPUT_NOT_FOUND";
inline constexpr std::string_view kInputUnreadable = "INPUT_UNREADABLE";
inline constexpr std::string_view kInputChanged = "INPUT_CHANGED";
inline constexpr std::string_view kOutOfMemory = "OUT_OF_MEMORY";
inline constexpr std::string_view kDataLoss = "DATA_LOSS";
// What a job declares of its operation, and does not keep.
inline constexpr std::string_view kNotCommutative = "NOT_COMMUTATIVE";
inline constexpr std::string_view kNotAssociative = "NOT_ASSOCIATIVE";
inline constexpr std::string_view kNotNeutral = "NOT_NEUTRAL";
inline constexpr std::string_view kDoesNotSplit = "DOES_NOT_SPLIT";
// Of scripts.
inline constexpr std::string_view kUserError = "USER_ERROR";
inline constexpr std::string_view kTaskHung = "TASK_HUNG";
}  // namespace step_error

/// What went wrong (a code of weir::step_error), with which file, and what to do.
struct StepError {
  std::string code;
  std::string message;
  std::string advice;
  std::string file;  // empty when no file is concerned
  std::int64_t byte_offset = 0;
  /// Last lines that a program of the user wrote to stderr; empty where none is concerned.
  std::string stderr_tail = {};
};

/// Returns a status with the message and the error as payload.
absl::Status StepErrorStatus(absl::StatusCode code, const StepError& error);

/// Returns the error that StepErrorStatus attached.
std::optional<StepError> StepErrorOf(const absl::Status& status);

}  // namespace weir
