#include "runtime/rpc/grpc/call_status.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/rpc/broken_off.h"
#include "runtime/rpc/grpc/call_settings.h"

namespace weir::rpc {

namespace {

// gRPC says no more of a peer that takes the connection and hangs up on the first bytes.
constexpr char kHungUp[] = "Socket closed";
// The whole text where a call was dropped, by either end; what our servers cancel has words.
constexpr char kDropped[] = "CANCELLED";
constexpr char kNotConnected[] = "failed to connect";
// Of names, where gRPC asked by itself and not by the C library (GRPC_DNS_RESOLVER=native).
constexpr char kUnknownToServers[] = "C-ares status is not";
// What it says of a connection that stood and broke. Were these texts to change, a peer that dies
// with a call in hand would be taken for one that nobody can reach.
constexpr absl::string_view kBroke[] = {kHungUp, "Connection reset by peer", "Broken pipe",
                                        "keepalive watchdog timeout", kShuttingDown};

// What may help where gRPC's words do not.
const char* AdviceOn(const std::string& message) {
  if (absl::StrContains(message, kNotConnected) && absl::StrContains(message, kHungUp)) {
    return "; it hung up at once: does it want TLS (--tls-cert, --tls-key, --tls-ca), or other "
           "certificates?";
  }
  if (absl::StrContains(message, kUnknownToServers)) {
    return "; only /etc/hosts and name servers were asked: where the machine knows the name in "
           "another way (nsswitch.conf), set GRPC_DNS_RESOLVER=native, or give the address";
  }
  return "";
}

bool BrokeOff(const std::string& message) {
  return !absl::StrContains(message, kNotConnected) &&
         std::any_of(std::begin(kBroke), std::end(kBroke), [&message](absl::string_view broke) {
           return absl::StrContains(message, broke);
         });
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.raw_code());
  // Messages are percent-encoded on the wire: up to three bytes for one.
  std::string message(status.message().substr(0, kStatusMessageBytesMax));
  if (!CarriesJobError(status)) return {code, message};
  v1::JobError error = JobErrorFromStatus(status);
  if (error.ByteSizeLong() > kStatusDetailBytesMax) error.clear_stderr_tail();
  if (error.ByteSizeLong() > kStatusDetailBytesMax) return {code, message};
  return {code, message, error.SerializeAsString()};
}

absl::Status FromGrpcStatus(const grpc::Status& status, std::string_view peer,
                            Canceller canceller) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  v1::JobError error;
  // The details are a stranger's bytes: what is not a JobError is ignored.
  if (!status.error_details().empty() && error.ParseFromString(status.error_details()) &&
      !error.code().empty()) {
    return StatusFromJobError(code, error);
  }
  if (code == absl::StatusCode::kCancelled && canceller == Canceller::kPeer &&
      status.error_message() == kDropped) {
    return BrokenOffError(
        absl::StrCat("cannot reach ", std::string(peer), ": it dropped the call"));
  }
  if (code == absl::StatusCode::kUnavailable) {
    const std::string message =
        absl::StrCat("cannot reach ", std::string(peer), ": ", status.error_message(),
                     AdviceOn(status.error_message()));
    return BrokeOff(status.error_message()) ? BrokenOffError(message)
                                            : absl::UnavailableError(message);
  }
  return absl::Status(code, status.error_message());
}

}  // namespace weir::rpc
