#include "runtime/master/calibrate/probe_answer.h"

#include <algorithm>

namespace weir::master {

FlowEnd LostEnd(const absl::Status& why) {
  const bool receiver_gone = absl::IsUnavailable(why) || absl::IsDeadlineExceeded(why) ||
                             absl::IsAborted(why) || absl::IsCancelled(why);
  return receiver_gone ? FlowEnd::kReceiver : FlowEnd::kSender;
}

ProbeOutcome OutcomeOf(const v1::ProbeResponse& response, double whole_s) {
  ProbeOutcome outcome;
  outcome.bytes = static_cast<double>(response.bytes());
  if (response.seconds() > 0) {
    outcome.bytes_per_s = static_cast<double>(response.bytes()) / response.seconds();
  }
  outcome.first_byte_s = response.first_byte_s();
  outcome.control_s = std::max(0.0, whole_s - response.busy_s());
  return outcome;
}

}  // namespace weir::master
