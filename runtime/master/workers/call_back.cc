#include "runtime/master/workers/call_back.h"

#include "absl/strings/str_cat.h"

namespace weir::master {
namespace {

constexpr char kAdvice[] =
    "; check --advertise and --listen of the worker, and that no firewall stands between";

}  // namespace

absl::Status CheckCallBack(const v1::RegisterRequest& request,
                           const absl::StatusOr<v1::IdentifyResponse>& answer) {
  if (absl::IsUnimplemented(answer.status())) return absl::OkStatus();
  const v1::WorkerIdentity& worker = request.identity();
  if (!answer.ok()) {
    return absl::UnavailableError(absl::StrCat("the master cannot reach worker ", worker.name(),
                                               " at ", worker.control_endpoint(), ": ",
                                               answer.status().message(), kAdvice));
  }
  if (answer->name() == worker.name() && answer->incarnation() == worker.incarnation()) {
    return absl::OkStatus();
  }
  const bool same_name = answer->name() == worker.name();
  return absl::UnavailableError(absl::StrCat(
      "at ", worker.control_endpoint(), ", where worker ", worker.name(),
      " says it listens, the master finds ",
      same_name ? "another daemon of that name" : absl::StrCat("worker ", answer->name()),
      kAdvice));
}

}  // namespace weir::master
