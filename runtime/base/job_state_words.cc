#include "runtime/base/job_state_words.h"

namespace weir {

const char* JobStateInWords(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_QUEUED:
      return "queued";
    case v1::JOB_STATE_PLANNING:
      return "planning";
    case v1::JOB_STATE_RUNNING:
      return "running";
    case v1::JOB_STATE_COMMITTING:
      return "publishing";
    case v1::JOB_STATE_ENDING:
      return "cleaning up";
    case v1::JOB_STATE_SUCCEEDED:
      return "done";
    case v1::JOB_STATE_FAILED:
      return "failed";
    case v1::JOB_STATE_CANCELLED:
      return "cancelled";
    default:
      return "waiting";
  }
}

}  // namespace weir
