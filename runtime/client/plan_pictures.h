#pragma once

// A plan that came over the wire, as text, JSON and pictures.

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "planner/explain/explain.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "weir/v1/services.pb.h"

namespace weir::client {

/// A plan with its prediction, and what became of it once it ran.
class ExplainedPlan {
 public:
  /// `ended`: it ran, if it did, to its end. Errors: kInternal or kInvalidArgument when the
  /// master's plan makes no sense here.
  static absl::StatusOr<ExplainedPlan> From(const v1::GetPlanResponse& response,
                                            const std::string& title, bool ended = true);

  std::string Text() const;
  std::string Json() const;
  /// Writes the pictures that were asked for. Errors name the file.
  absl::Status WritePictures(const PictureOptions& pictures, CommandHost& host) const;
  /// Writes plan.json, gantt.svg and trace.json into DIR/_weir.
  absl::Status WriteBeside(const std::string& output_directory, CommandHost& host) const;
  const planner::Prediction& predicted() const { return predicted_; }

 private:
  const planner::ActualRun* actual() const { return actual_ ? &*actual_ : nullptr; }

  planner::Plan plan_;
  v1::Plan message_;
  planner::Prediction predicted_;
  std::optional<planner::ActualRun> actual_;
  planner::ExplainOptions options_;
};

}  // namespace weir::client
