// Any bytes as a plan by hand (--plan-file): it is refused with a reason, or it is a plan that the
// checker can look at.

#include <string_view>

#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/wire/plan_wire.h"
#include "runtime/client/plan_file.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const auto message = weir::client::ParsePlanFile(text);
  if (!message.ok()) return message.status().message().empty() ? __builtin_trap(), 0 : 0;
  const auto plan = weir::planner::PlanFromProto(*message);
  if (!plan.ok()) return 0;
  // What the checker accepts can be predicted.
  if (!weir::planner::CheckPlan(*plan).ok()) return 0;
  if (!weir::planner::Predict(*plan).ok()) __builtin_trap();
  return 0;
}
