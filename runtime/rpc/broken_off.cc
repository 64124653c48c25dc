#include "runtime/rpc/broken_off.h"

#include "absl/strings/cord.h"

namespace weir::rpc {
namespace {

constexpr char kMark[] = "weir/broken-off";

}  // namespace

absl::Status BrokenOffError(absl::string_view message) {
  absl::Status status = absl::UnavailableError(message);
  status.SetPayload(kMark, absl::Cord("1"));
  return status;
}

bool IsBrokenOff(const absl::Status& status) { return status.GetPayload(kMark).has_value(); }

}  // namespace weir::rpc
