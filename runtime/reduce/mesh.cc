#include "runtime/reduce/mesh.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/reduce/frames.h"
#include "runtime/reduce/steady_time.h"
#include "runtime/transfer/congestion_control.h"

namespace weir::reduce {
namespace {

/// What a paced socket may hold unsent, as the data plane's sockets.
constexpr double kAheadSeconds = 4e-3;
constexpr std::int64_t kAheadBytesMin = 16 << 10;
constexpr std::int64_t kAheadBytesMax = 256 << 10;
/// Connections that have not shown the token yet.
constexpr std::size_t kStrangersMax = 256;

struct Address {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

absl::StatusOr<Address> Resolve(const std::string& endpoint, bool numeric) {
  const std::size_t colon = endpoint.rfind(':');
  std::string host = endpoint.substr(0, colon == std::string::npos ? 0 : colon);
  int port = -1;
  if (host.empty() || !absl::SimpleAtoi(endpoint.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("'", endpoint, "' must be host:port"));
  }
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", endpoint, "' cannot be used: ", ::gai_strerror(error)));
  }
  Address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.bytes = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

void Set(int fd, int level, int option, int value) {
  // What a kernel does not know costs speed or time, never bytes.
  static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

// Not TCP_USER_TIMEOUT: it also counts the time in which a member that is there, and late, leaves
// what it was sent in its socket. A host that is gone is found on the connection the other way,
// where nothing waits to be sent.
void FindLostHosts(int fd) {
  const int silence_ms = static_cast<int>(absl::ToInt64Milliseconds(Mesh::kPeerSilence));
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, silence_ms / 2000);
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, silence_ms / 4000);
  Set(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

bool IsLoopback(const Address& address) {
  if (address.storage.ss_family != AF_INET) return false;
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
  return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
}

void Pace(int fd, const MeshOptions& options, bool loopback, std::int64_t ahead_bytes) {
  static const transfer::CongestionChoice kChoice =
      transfer::ChooseCongestionControl("", transfer::KernelMayUse);
  const bool paced = options.paced_bytes_per_s > 0;
  const std::string& algorithm = kChoice.For(loopback, paced);
  if (!algorithm.empty()) {
    static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm.data(),
                                   static_cast<socklen_t>(algorithm.size())));
  }
  if (paced) {
    const auto rate = static_cast<std::uint64_t>(options.paced_bytes_per_s);
    static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate));
  }
  Set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, static_cast<int>(ahead_bytes));
}

absl::Status AwaitWritable(int fd, double until_s) {
  for (;;) {
    pollfd poll = {fd, POLLOUT, 0};
    const int ms = std::max(0, static_cast<int>(1000 * (until_s - SteadySeconds())));
    const int ready = ::poll(&poll, 1, ms);
    if (ready > 0) return absl::OkStatus();
    if (ready == 0) return absl::DeadlineExceededError("it does not answer");
    if (errno != EINTR) return ErrnoStatus(errno, "poll");
  }
}

absl::StatusOr<Fd> ConnectTo(const std::string& endpoint, const MeshOptions& options,
                             std::int64_t ahead_bytes, double until_s) {
  const absl::StatusOr<Address> address = Resolve(endpoint, /*numeric=*/false);
  if (!address.ok()) return address.status();
  Fd fd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  FindLostHosts(fd.get());
  if (::connect(fd.get(), address->get(), address->bytes) != 0) {
    if (errno != EINPROGRESS) return ErrnoStatus(errno, "connect");
    if (absl::Status ready = AwaitWritable(fd.get(), until_s); !ready.ok()) return ready;
    int error = 0;
    socklen_t bytes = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return ErrnoStatus(error, "connect");
  }
  Pace(fd.get(), options, IsLoopback(*address), ahead_bytes);
  FrameHeader header;
  header.kind = FrameKind::kHello;
  header.transfer = options.rank;
  const std::string hello = SmallFrame(header, absl::StrCat(options.group_id, " ", options.token));
  // A new socket has room for it.
  if (::send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(hello.size())) {
    return ErrnoStatus(errno, "send");
  }
  return fd;
}

/// A connection that has not said yet who it is.
struct Stranger {
  Fd fd;
  std::string said;
};

enum class Heard { kMore, kNobody, kMember };

Heard Hear(Stranger& stranger, const MeshOptions& options, std::int32_t& rank) {
  const std::string expected = absl::StrCat(options.group_id, " ", options.token);
  const std::size_t whole = kFrameHeaderBytes + expected.size();
  std::string buffer(whole - stranger.said.size(), '\0');
  const ssize_t got = ::recv(stranger.fd.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::kMore;
  if (got <= 0) return Heard::kNobody;
  stranger.said.append(buffer, 0, static_cast<std::size_t>(got));
  if (stranger.said.size() < whole) return Heard::kMore;
  const absl::StatusOr<FrameHeader> header = DecodeFrameHeader(stranger.said.data());
  if (!header.ok() || header->kind != FrameKind::kHello || header->body_bytes != expected.size() ||
      stranger.said.compare(kFrameHeaderBytes, std::string::npos, expected) != 0 ||
      !CheckBody(stranger.said.data(), stranger.said.data() + kFrameHeaderBytes).ok()) {
    return Heard::kNobody;
  }
  rank = static_cast<std::int32_t>(header->transfer);
  return rank >= 0 && rank < static_cast<std::int32_t>(options.endpoints.size()) &&
                 rank != options.rank
             ? Heard::kMember
             : Heard::kNobody;
}

absl::Status Missing(const std::vector<Fd>& from, const MeshOptions& options) {
  std::string missing;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].valid() || static_cast<std::int32_t>(i) == options.rank) continue;
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", "rank ", i, " (", options.endpoints[i],
                    ")");
  }
  return absl::DeadlineExceededError(
      absl::StrCat("not connected after ", absl::FormatDuration(options.timeout), ": ", missing));
}

absl::Status AcceptAll(const Listener& listener, const MeshOptions& options, double until_s,
                       std::vector<Fd>& from) {
  std::size_t missing = from.size() - 1;
  std::vector<Stranger> strangers;
  while (missing > 0) {
    std::vector<pollfd> polls = {{listener.fd.get(), POLLIN, 0}};
    for (const Stranger& stranger : strangers) polls.push_back({stranger.fd.get(), POLLIN, 0});
    const int ms = static_cast<int>(1000 * (until_s - SteadySeconds()));
    if (ms <= 0) return Missing(from, options);
    if (::poll(polls.data(), polls.size(), ms) < 0 && errno != EINTR)
      return ErrnoStatus(errno, "poll");
    for (std::size_t i = strangers.size(); i-- > 0;) {
      if (polls[i + 1].revents == 0) continue;
      std::int32_t rank = 0;
      const Heard heard = Hear(strangers[i], options, rank);
      if (heard == Heard::kMore) continue;
      if (heard == Heard::kMember && !from[static_cast<std::size_t>(rank)].valid()) {
        from[static_cast<std::size_t>(rank)] = std::move(strangers[i].fd);
        --missing;
      }
      strangers.erase(strangers.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (polls[0].revents == 0) continue;
    Fd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      // Who connected and has gone leaves an error. What this process lacks stays, with the
      // listener readable: to try again would keep a core busy until the end.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return ErrnoStatus(errno, "cannot accept the connections of other members");
      }
      continue;
    }
    FindLostHosts(fd.get());
    if (strangers.size() >= kStrangersMax) strangers.erase(strangers.begin());
    strangers.push_back({std::move(fd), ""});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Listener> Listener::Open(const std::string& host_and_port) {
  const absl::StatusOr<Address> address = Resolve(host_and_port, /*numeric=*/true);
  if (!address.ok())
    return absl::InvalidArgumentError(absl::StrCat("listen: ", address.status().message()));
  Listener listener;
  listener.fd.Reset(
      ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd.valid()) return ErrnoStatus(errno, "socket");
  Set(listener.fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(listener.fd.get(), address->get(), address->bytes) != 0 ||
      ::listen(listener.fd.get(), SOMAXCONN) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot listen on ", host_and_port));
  }
  sockaddr_storage bound = {};
  socklen_t bytes = sizeof bound;
  ::getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&bound), &bytes);
  const std::uint16_t port = bound.ss_family == AF_INET6
                                 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                 : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port;
  listener.endpoint =
      absl::StrCat(host_and_port.substr(0, host_and_port.rfind(':')), ":", ntohs(port));
  return listener;
}

absl::StatusOr<Mesh> Mesh::Connect(const Listener& listener, const MeshOptions& options) {
  const double until_s = SteadySeconds() + absl::ToDoubleSeconds(options.timeout);
  Mesh mesh;
  mesh.send_ahead_bytes =
      options.paced_bytes_per_s > 0
          ? std::clamp(static_cast<std::int64_t>(options.paced_bytes_per_s * kAheadSeconds),
                       kAheadBytesMin, kAheadBytesMax)
          : kAheadBytesMax;
  mesh.to.resize(options.endpoints.size());
  mesh.from.resize(options.endpoints.size());
  // Everybody listens before anybody is told where: connecting needs no accept.
  for (std::size_t i = 1; i < options.endpoints.size(); ++i) {
    // From the next rank on, so that they do not all begin with the same.
    const std::size_t peer =
        (static_cast<std::size_t>(options.rank) + i) % options.endpoints.size();
    absl::StatusOr<Fd> fd =
        ConnectTo(options.endpoints[peer], options, mesh.send_ahead_bytes, until_s);
    if (!fd.ok()) {
      return absl::Status(fd.status().code(),
                          absl::StrCat("rank ", peer, " at ", options.endpoints[peer],
                                       " cannot be reached: ", fd.status().message()));
    }
    mesh.to[peer] = *std::move(fd);
  }
  if (absl::Status status = AcceptAll(listener, options, until_s, mesh.from); !status.ok())
    return status;
  return mesh;
}

void Mesh::Close(absl::Duration patience) {
  const double until_s = SteadySeconds() + absl::ToDoubleSeconds(patience);
  for (std::vector<Fd>* side : {&from, &to}) {
    for (Fd& fd : *side) {
      // A socket closed with answers unread resets the connection: only after its bytes arrived.
      for (int unsent = 1; fd.valid() && unsent > 0 && SteadySeconds() < until_s;) {
        if (::ioctl(fd.get(), SIOCOUTQ, &unsent) != 0 || unsent == 0) break;
        pollfd poll = {fd.get(), 0, 0};
        if (::poll(&poll, 1, 1) > 0) break;
      }
      fd.Reset();
    }
  }
}

}  // namespace weir::reduce
