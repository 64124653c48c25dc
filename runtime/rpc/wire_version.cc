#include "runtime/rpc/wire_version.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::rpc {
namespace {

std::string Versions(int oldest, int newest) {
  return oldest == newest ? absl::StrCat("version ", newest)
                          : absl::StrCat("versions ", oldest, " to ", newest);
}

}  // namespace

absl::Status CheckWireVersion(int version, int oldest, std::string_view who) {
  const int newest = version == 0 ? 1 : version;
  if (oldest == 0) oldest = newest;
  if (oldest <= kWireVersion && newest >= kWireVersionOldest) return absl::OkStatus();
  const std::string peer(who);
  const bool master_is_old = oldest > kWireVersion;
  return StatusFromJobError(
      absl::StatusCode::kFailedPrecondition,
      MakeJobError(
          job_error::kWrongVersion,
          absl::StrCat("the ", peer, " speaks ", Versions(oldest, newest),
                       " of the wire, this master ", Versions(kWireVersionOldest, kWireVersion),
                       ": upgrade the ", master_is_old ? "master" : peer)));
}

}  // namespace weir::rpc
