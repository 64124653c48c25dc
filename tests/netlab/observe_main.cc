// weir_lab_observe PERIOD_MS switch:NAME... host:NAME...: reads the kernel's own counters of a
// laboratory.
//
// Of each switch: bytes of every device (/proc/net/dev of that namespace). Of each
// host: bytes that the kernel has received, by the address that sent them (sock_diag, TCP_INFO).
// It speaks with no process of Weir and links nothing of it. Says "ready", samples until its input
// ends, then prints one JSON object:
//
//   {"time_ns": [[before, after], ...],                        CLOCK_MONOTONIC around each sample
//    "links": {"SWITCH/DEVICE": {"rx": [...], "tx": [...]}},   bytes of frames, as the switch
//    counts "received": {"HOST": {"ADDRESS": [...]}}}                 payload bytes by sender
//
// Upstream: observer.py. Downstream: nothing.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Bytes = std::uint64_t;
using Series = std::vector<Bytes>;

// Established, FIN-WAIT-1 and 2, CLOSE-WAIT, LAST-ACK, CLOSING.
constexpr unsigned kConnected = 1U << 1 | 1U << 4 | 1U << 5 | 1U << 8 | 1U << 9 | 1U << 11;
// Sockets are asked for in every second sample: that costs ten times what the links do.
constexpr std::size_t kSamplesALook = 2;
constexpr int kMsPerSecond = 1000;
constexpr long kNsPerMs = 1'000'000;
constexpr std::int64_t kNsPerS = 1'000'000'000;

[[noreturn]] void Fail(const std::string& what) {
  std::perror(("weir_lab_observe: " + what).c_str());
  std::exit(1);
}

std::int64_t NowNs() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * kNsPerS + t.tv_nsec;
}

// From here on the calling thread sees this network; what it opens stays there.
void Enter(const std::string& name) {
  const int space = ::open(("/var/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) Fail("network namespace " + name);
  ::close(space);
}

// A series that gets its value of this sample; zeros where it was not there before.
void Append(Series& series, std::size_t samples_before, Bytes value) {
  series.resize(samples_before, series.empty() ? 0 : series.back());
  series.push_back(value);
}

class Switch {
 public:
  explicit Switch(std::string name) : name_(std::move(name)) {
    Enter(name_);
    file_ = ::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
    if (file_ < 0) Fail("/proc/thread-self/net/dev");
  }

  void Sample(std::size_t samples_before) {
    char text[16384];
    const ssize_t size = ::pread(file_, text, sizeof text, 0);
    if (size <= 0) Fail("/proc/net/dev of " + name_);
    std::istringstream lines(std::string(text, static_cast<std::size_t>(size)));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::size_t begin = line.find_first_not_of(' ');
      Link& link = links_[line.substr(begin, colon - begin)];
      // bytes packets errs drop fifo frame compressed multicast, received and sent.
      Bytes fields[9] = {};
      std::istringstream numbers(line.substr(colon + 1));
      for (Bytes& field : fields) numbers >> field;
      Append(link.rx, samples_before, fields[0]);
      Append(link.tx, samples_before, fields[8]);
    }
  }

  void Tell(nlohmann::json& out) const {
    for (const auto& [device, link] : links_) {
      out[name_ + "/" + device] = {{"rx", link.rx}, {"tx", link.tx}};
    }
  }

 private:
  struct Link {
    Series rx, tx;
  };
  const std::string name_;
  int file_ = -1;
  std::map<std::string, Link> links_;
};

class Host {
 public:
  explicit Host(std::string name) : name_(std::move(name)) {
    Enter(name_);
    socket_ = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (socket_ < 0) Fail("sock_diag of " + name_);
  }

  // What is not looked at anew stands as it was.
  void Sample(std::size_t samples_before, bool anew) {
    if (anew) Look();
    for (auto& [address, flow] : flows_) Append(flow.series, samples_before, flow.total);
  }

  void Tell(nlohmann::json& out) const {
    nlohmann::json& mine = out[name_] = nlohmann::json::object();
    for (const auto& [address, flow] : flows_) mine[address] = flow.series;
  }

 private:
  struct Flow {
    Bytes total = 0;
    std::map<std::uint64_t, Bytes> of_sockets;  // by the kernel's cookie
    Series series;
  };

  void Look() {
    struct {
      nlmsghdr header;
      inet_diag_req_v2 request;
    } ask = {};
    ask.header.nlmsg_len = sizeof ask;
    ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    ask.request.sdiag_family = AF_INET;
    ask.request.sdiag_protocol = IPPROTO_TCP;
    ask.request.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    // Not those that listen: their table is long. What is closed meanwhile is no longer listed: its
    // last count before that is kept.
    ask.request.idiag_states = kConnected;
    if (::send(socket_, &ask, sizeof ask, 0) < 0) Fail("asking for sockets of " + name_);
    alignas(nlmsghdr) char answer[65536];
    for (bool more = true; more;) {
      const ssize_t got = ::recv(socket_, answer, sizeof answer, 0);
      if (got <= 0) Fail("sockets of " + name_);
      auto left = static_cast<unsigned>(got);
      for (const auto* message = reinterpret_cast<const nlmsghdr*>(answer); NLMSG_OK(message, left);
           message = NLMSG_NEXT(message, left)) {
        if (message->nlmsg_type == NLMSG_ERROR) Fail("sockets of " + name_);
        if (message->nlmsg_type == NLMSG_DONE) {
          more = false;
          break;
        }
        Count(message);
      }
    }
  }

  void Count(const nlmsghdr* message) {
    const auto* found = reinterpret_cast<const inet_diag_msg*>(
        reinterpret_cast<const char*>(message) + NLMSG_HDRLEN);
    auto left = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof *found));
    for (const auto* part = reinterpret_cast<const rtattr*>(found + 1); RTA_OK(part, left);
         part = RTA_NEXT(part, left)) {
      if (part->rta_type != INET_DIAG_INFO) continue;
      tcp_info info = {};
      std::memcpy(&info, RTA_DATA(part), std::min<std::size_t>(sizeof info, RTA_PAYLOAD(part)));
      char address[INET_ADDRSTRLEN] = {};
      ::inet_ntop(AF_INET, found->id.idiag_dst, address, sizeof address);
      const std::uint64_t cookie =
          found->id.idiag_cookie[0] | std::uint64_t{found->id.idiag_cookie[1]} << 32;
      Flow& flow = flows_[address];
      Bytes& last = flow.of_sockets[cookie];
      if (info.tcpi_bytes_received > last) {
        flow.total += info.tcpi_bytes_received - last;
        last = info.tcpi_bytes_received;
      }
    }
  }

  const std::string name_;
  int socket_ = -1;
  std::map<std::string, Flow> flows_;
};

// Whether nobody listens any more, after waiting until `until_ns`.
bool EndsBefore(std::int64_t until_ns) {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  const std::int64_t left_ns = std::max<std::int64_t>(0, until_ns - NowNs());
  const timespec wait = {left_ns / kNsPerS, left_ns % kNsPerS};
  return ::ppoll(&input, 1, &wait, nullptr) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Switch> switches;
  std::vector<Host> hosts;
  const long period_ms = argc > 1 ? std::atol(argv[1]) : 0;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("switch:")) {
      switches.emplace_back(std::string(word.substr(7)));
    } else if (word.starts_with("host:")) {
      hosts.emplace_back(std::string(word.substr(5)));
    } else {
      switches.clear();
      break;
    }
  }
  if (period_ms < 1 || period_ms > kMsPerSecond || switches.empty()) {
    std::cerr << "usage: weir_lab_observe PERIOD_MS switch:NAME... host:NAME...\n";
    return 2;
  }
  std::cout << "ready" << std::endl;
  nlohmann::json times = nlohmann::json::array();
  std::int64_t next_ns = NowNs();
  for (bool ended = false; !ended;) {
    // The last sample is taken after the end was asked for.
    ended = EndsBefore(next_ns);
    const std::size_t taken = times.size();
    const std::int64_t before_ns = NowNs();
    for (Switch& one : switches) one.Sample(taken);
    const std::int64_t after_ns = NowNs();
    for (Host& one : hosts) one.Sample(taken, ended || taken % kSamplesALook == 0);
    times.push_back({before_ns, after_ns});
    next_ns = std::max(next_ns + period_ms * kNsPerMs, after_ns);
  }
  nlohmann::json out = {{"time_ns", std::move(times)}};
  for (const Switch& one : switches) one.Tell(out["links"]);
  out["received"] = nlohmann::json::object();
  for (const Host& one : hosts) one.Tell(out["received"]);
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  out["cpu_s"] = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  std::cout << out.dump() << std::endl;
  return 0;
}
