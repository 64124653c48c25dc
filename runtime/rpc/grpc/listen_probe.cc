#include "runtime/rpc/grpc/listen_probe.h"

#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "runtime/base/fd.h"

namespace weir::rpc {
namespace {

bool CanBind(const addrinfo& candidate) {
  const Fd socket(::socket(candidate.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // As gRPC does: a port whose last connections are still closing is free.
  const int reuse = 1;
  return socket.valid() &&
         setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) == 0 &&
         bind(socket.get(), candidate.ai_addr, candidate.ai_addrlen) == 0 &&
         listen(socket.get(), 1) == 0;
}

}  // namespace

bool CanListen(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> candidates(found, &freeaddrinfo);
  for (const addrinfo* candidate = found; candidate; candidate = candidate->ai_next) {
    if (CanBind(*candidate)) return true;
  }
  return false;
}

}  // namespace weir::rpc
