#include "runtime/transfer/congestion_control.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <initializer_list>

#include "runtime/base/fd.h"
#include "runtime/base/log.h"

namespace weir::transfer {
namespace {

std::string FirstUsable(std::initializer_list<const char*> algorithms, const MayUse& may_use) {
  for (const char* algorithm : algorithms) {
    if (may_use(algorithm)) return algorithm;
  }
  return "";
}

}  // namespace

bool KernelMayUse(const std::string& algorithm) {
  const Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return probe.valid() && ::setsockopt(probe.get(), IPPROTO_TCP, TCP_CONGESTION, algorithm.data(),
                                       static_cast<socklen_t>(algorithm.size())) == 0;
}

CongestionChoice ChooseCongestionControl(const std::string& wanted, const MayUse& may_use) {
  if (!wanted.empty() && may_use(wanted)) return {wanted, wanted, wanted};
  if (!wanted.empty()) {
    LogWarning(
        "Congestion control cannot be used; the kernel lacks it or reserves it",
        {{"wanted", wanted}, {"allowed", "/proc/sys/net/ipv4/tcp_allowed_congestion_control"}});
  }
  return {FirstUsable({"bbr", "reno"}, may_use), FirstUsable({"reno"}, may_use),
          FirstUsable({"cubic"}, may_use)};
}

}  // namespace weir::transfer
