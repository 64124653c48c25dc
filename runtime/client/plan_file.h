#pragma once

// Plans as files: what `weir plan --json` prints and DIR/_weir/plan.json holds can be run again.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/plan.pb.h"

namespace weir::client {

/// Error for a text in which lists and objects are nested more than 64 deep: no file that Weir
/// reads is, and who writes such JSON again, or copies it, takes a stack frame a level. Errors:
/// kInvalidArgument. Takes whatever is no JSON, too: to say so is the parser's part.
absl::Status CheckJsonDepth(std::string_view json);

/// Adds the plan itself, member "plan" (protobuf JSON of weir.v1.Plan), to the explanation for
/// programs. Plans above some ten thousand transfers are left out.
std::string WithWholePlan(const std::string& explained_json, const v1::Plan& plan);

/// Returns the plan alone as protobuf JSON of weir.v1.Plan.
/// Errors: kInvalidArgument when a text in it is not UTF-8.
absl::StatusOr<std::string> PlanText(const v1::Plan& plan);

/// Reads a plan from such a file, or from protobuf JSON of weir.v1.Plan alone.
/// Errors: kInvalidArgument saying what is wrong with the text.
absl::StatusOr<v1::Plan> ParsePlanFile(std::string_view text);

/// Puts the plan of --plan-file, if any, into the spec. Errors name the file.
absl::Status AddPlanFile(const JobOptions& job, CommandHost& host, v1::JobSpec& spec);

}  // namespace weir::client
