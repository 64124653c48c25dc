#include "runtime/rpc/grpc/listen_probe.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/base/fd.h"

namespace weir::rpc {
namespace {

// Returns 0, or the errno of what failed.
int TryToListen(const addrinfo& candidate) {
  const Fd socket(::socket(candidate.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // As gRPC does: a port whose last connections are still closing is free.
  const int reuse = 1;
  const bool listens =
      socket.valid() &&
      setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) == 0 &&
      bind(socket.get(), candidate.ai_addr, candidate.ai_addrlen) == 0 &&
      listen(socket.get(), 1) == 0;
  return listens ? 0 : errno;
}

std::string ReasonOf(int error_number) {
  switch (error_number) {
    case EADDRINUSE:
      return "the address is taken: something listens there already";
    case EADDRNOTAVAIL:
      return "the address does not belong to this host, or not yet";
    case EACCES:
      return "this user may not listen there (ports below 1024 are root's)";
    default:
      return std::generic_category().message(error_number);
  }
}

absl::Status CannotListen(const std::string& address, const std::string& reason) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", reason));
}

}  // namespace

absl::Status CheckCanListen(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return CannotListen(address, "it has no port");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int unknown = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (unknown != 0) {
    return CannotListen(address,
                        absl::StrCat("its name is not known here (", gai_strerror(unknown), ")"));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> candidates(found, &freeaddrinfo);
  int refused = 0;
  for (const addrinfo* candidate = found; candidate; candidate = candidate->ai_next) {
    const int error_number = TryToListen(*candidate);
    if (error_number == 0) return absl::OkStatus();
    // Of several addresses of a name, the one that is here says more than others.
    if (refused == 0 || refused == EADDRNOTAVAIL || refused == EAFNOSUPPORT) refused = error_number;
  }
  return CannotListen(address, ReasonOf(refused));
}

}  // namespace weir::rpc
