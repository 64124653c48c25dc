#include "runtime/client/plan_file.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/job_spec.h"

namespace weir::client {
namespace {

using Json = nlohmann::ordered_json;

// As many as the explanation lists.
constexpr int kTransfersWritten = 20'000;
constexpr std::int64_t kPlanFileBytesMax = std::int64_t{256} << 20;
constexpr int kJsonDepthMax = 64;

}  // namespace

absl::Status CheckJsonDepth(std::string_view json) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (in_text) {
      if (c == '\\') ++at;  // what follows ends no text
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kJsonDepthMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("its lists and objects are nested more than ", kJsonDepthMax, " deep"));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return absl::OkStatus();
}

std::string WithWholePlan(const std::string& explained_json, const v1::Plan& plan) {
  if (plan.transfers_size() > kTransfersWritten) return explained_json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(plan, &text, options);
  Json document = Json::parse(explained_json, nullptr, /*allow_exceptions=*/false);
  Json whole = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  // A name that is not UTF-8 cannot be written; the explanation stands without the plan.
  if (!printed.ok() || !document.is_object() || whole.is_discarded()) return explained_json;
  document["plan"] = std::move(whole);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<std::string> PlanText(const v1::Plan& plan) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(plan, &text, options);
  if (!printed.ok()) return absl::InvalidArgumentError(printed.ToString());
  return text;
}

absl::StatusOr<v1::Plan> ParsePlanFile(std::string_view text) {
  if (absl::Status bounded = CheckJsonDepth(text); !bounded.ok()) return bounded;
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return absl::InvalidArgumentError("it is no JSON object");
  const bool explained = document.contains("plan");
  if (!explained && document.contains("predicted_s")) {
    return absl::InvalidArgumentError(
        absl::StrCat("it explains a plan of more than ", kTransfersWritten,
                     " transfers, which is too long to be kept in such a file"));
  }
  v1::Plan plan;
  const std::string whole = (explained ? document["plan"] : document)
                                .dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto parsed = google::protobuf::util::JsonStringToMessage(whole, &plan);
  if (!parsed.ok()) return absl::InvalidArgumentError(parsed.ToString());
  if (plan.steps().empty()) return absl::InvalidArgumentError("the plan has no steps");
  return plan;
}

absl::Status AddPlanFile(const JobOptions& job, CommandHost& host, v1::JobSpec& spec) {
  if (job.plan_file.empty()) return absl::OkStatus();
  const auto text =
      host.storage.ReadFile(AbsolutePath(job.plan_file, host.working_directory), kPlanFileBytesMax);
  if (!text.ok()) return FlagFileError("--plan-file", text.status());
  auto plan = ParsePlanFile(*text);
  if (!plan.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plan-file ", job.plan_file, ": ", plan.status().message()));
  }
  *spec.mutable_plan() = *std::move(plan);
  return absl::OkStatus();
}

}  // namespace weir::client
