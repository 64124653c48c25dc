#include "runtime/rpc/grpc/listen_security.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir::rpc {
namespace {

// "[::1]:80" -> "::1" and "80".
bool SplitAddress(const std::string& address, std::string& host, std::string& port) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  host = address.substr(0, colon);
  port = address.substr(colon + 1);
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') return false;
    host = host.substr(1, host.size() - 2);
  } else if (absl::StrContains(host, ':')) {
    return false;
  }
  int number = 0;
  return absl::SimpleAtoi(port, &number) && number >= 0 && number <= 65535;
}

}  // namespace

bool IsLoopback(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return true;
  std::string host, port;
  if (!SplitAddress(address, host, port)) return false;
  if (host == "localhost" || host == "::1") return true;
  // "127.evil.example" is a name, not an address.
  return absl::StartsWith(host, "127.") &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

absl::Status CheckListenAddress(const std::string& address, const Security& security) {
  std::string host, port;
  if (!absl::StartsWith(address, "unix:") && !SplitAddress(address, host, port)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", address, "' is no address to listen on: use HOST:PORT, for example 127.0.0.1:7117"));
  }
  if (!security.NeedsToken()) return absl::OkStatus();
  if (IsLoopback(address)) {
    if (!security.token.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "refusing to listen on ", address,
        " for every user of this machine: give --token-file FILE, or --insecure to allow that"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("refusing to listen on ", address,
                   " without TLS: pass --tls-cert, --tls-key and --tls-ca, or --insecure to allow "
                   "everybody who reaches this address to run jobs"));
}

}  // namespace weir::rpc
