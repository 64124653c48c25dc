#include "planner/job/job_shape.h"

namespace weir::planner {

const char* OriginName(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kFlag:
      return "flag";
    case Origin::kHistory:
      return "history";
    case Origin::kSampled:
      return "sampled";
    case Origin::kMeasured:
      return "measured";
  }
  return "unknown";
}

const char* FinalWriteName(FinalWrite write) {
  switch (write) {
    case FinalWrite::kParts:
      return "parts";
    case FinalWrite::kParallel:
      return "parallel";
    case FinalWrite::kOne:
      return "one";
  }
  return "unknown";
}

}  // namespace weir::planner
