#include "planner/plan/plan.h"

namespace weir::planner {

const char* StepKindName(StepKind kind) {
  switch (kind) {
    case StepKind::kMap:
      return "map";
    case StepKind::kReduce:
      return "reduce";
    case StepKind::kCombine:
      return "combine";
    case StepKind::kWrite:
      return "write";
  }
  return "unknown";
}

}  // namespace weir::planner
