#include "runtime/reduce/probe.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/reduce/frames.h"
#include "runtime/reduce/steady_time.h"

namespace weir::reduce {
namespace {

/// Long beside the pauses of a scheduler, short beside connecting.
constexpr double kProbeSeconds = 0.02;
constexpr double kProbeBytesMin = 32 << 10;
constexpr double kProbeBytesMax = 1 << 20;
constexpr std::size_t kPingBytes = kFrameHeaderBytes;

/// Bytes that go one way over a connection.
struct Flow {
  int fd = -1;
  std::int32_t peer = 0;
  std::int64_t left = 0;
  /// Where they come from or go to; null = they are worth nothing.
  char* bytes = nullptr;
};

class Prober {
 public:
  Prober(const Mesh& mesh, const MeshOptions& options)
      : mesh_(mesh),
        options_(options),
        size_(static_cast<std::int32_t>(options.endpoints.size())),
        until_s_(SteadySeconds() + absl::ToDoubleSeconds(options.timeout)),
        nothing_(64 << 10) {}

  absl::StatusOr<double> Latency() {
    const std::int32_t next = Peer(1), previous = Peer(size_ - 1);
    std::vector<double> halves;
    int answered = 0;
    double begin_s = SteadySeconds();
    Flow ping = To(next, kPingBytes), echo = Back(next, kPingBytes);
    Flow heard = From(previous, kPingBytes), answer = Answer(previous, 0);
    while (static_cast<int>(halves.size()) < kProbePings || answered < kProbePings ||
           answer.left > 0) {
      if (absl::Status moved = Move({&ping, &answer}, {&echo, &heard}); !moved.ok()) return moved;
      if (heard.left == 0 && answered < kProbePings) {
        answer.left += kPingBytes;
        if (++answered < kProbePings) heard.left = kPingBytes;
      }
      if (echo.left == 0 && static_cast<int>(halves.size()) < kProbePings) {
        halves.push_back((SteadySeconds() - begin_s) / 2);
        if (static_cast<int>(halves.size()) == kProbePings) continue;
        ping.left = echo.left = kPingBytes;
        begin_s = SteadySeconds();
      }
    }
    return Median(std::move(halves));
  }

  absl::StatusOr<double> SecondsPerByte(std::int64_t bytes) {
    std::vector<double> found;
    for (int round = 0; round < kProbeRounds; ++round) {
      const std::int32_t ahead = 1 + round * (size_ - 1) / kProbeRounds;
      Flow out = To(Peer(ahead), bytes), in = From(Peer(size_ - ahead), bytes);
      double half_s = -1;
      std::int64_t half_left = 0;
      while (out.left > 0 || in.left > 0) {
        if (absl::Status moved = Move({&out}, {&in}); !moved.ok()) return moved;
        if (half_s < 0 && in.left <= bytes / 2) {
          half_s = SteadySeconds();
          half_left = in.left;
        }
        if (in.left == 0 && half_left > 0) {
          found.push_back((SteadySeconds() - half_s) / static_cast<double>(half_left));
          half_left = 0;
        }
      }
    }
    return found.empty() ? 0 : Median(std::move(found));
  }

  /// Tells all others and hears from them.
  absl::StatusOr<std::vector<LinkMeasurement>> Exchange(const LinkMeasurement& mine) {
    FrameHeader header;
    header.kind = FrameKind::kMeasured;
    std::string said =
        SmallFrame(header, absl::string_view(reinterpret_cast<const char*>(&mine), sizeof mine));
    std::vector<std::string> heard(At(size_), std::string(said.size(), '\0'));
    std::vector<Flow> flows;
    for (std::int32_t peer = 0; peer < size_; ++peer) {
      if (peer == options_.rank) continue;
      flows.push_back(To(peer, static_cast<std::int64_t>(said.size()), said.data()));
      flows.push_back(From(peer, static_cast<std::int64_t>(said.size()), heard[At(peer)].data()));
    }
    std::vector<Flow*> out, in;
    for (std::size_t i = 0; i < flows.size(); ++i) (i % 2 == 0 ? out : in).push_back(&flows[i]);
    while (std::any_of(flows.begin(), flows.end(), [](const Flow& f) { return f.left > 0; })) {
      if (absl::Status moved = Move(out, in); !moved.ok()) return moved;
    }
    std::vector<LinkMeasurement> all(At(size_), mine);
    for (std::int32_t peer = 0; peer < size_; ++peer) {
      if (peer == options_.rank) continue;
      const char* const frame = heard[At(peer)].data();
      const absl::StatusOr<FrameHeader> came = DecodeFrameHeader(frame);
      if (!came.ok() || came->kind != FrameKind::kMeasured || came->body_bytes != sizeof mine ||
          !CheckBody(frame, frame + kFrameHeaderBytes).ok()) {
        return absl::UnavailableError(
            absl::StrCat(Name(peer), " does not say what it measured: is it of this version?"));
      }
      std::memcpy(&all[At(peer)], frame + kFrameHeaderBytes, sizeof mine);
    }
    return all;
  }

 private:
  static std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }
  static double Median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  std::int32_t Peer(std::int32_t ahead) const { return (options_.rank + ahead) % size_; }
  std::string Name(std::int32_t peer) const {
    return absl::StrCat("rank ", peer, " (", options_.endpoints[At(peer)], ")");
  }
  Flow To(std::int32_t peer, std::int64_t bytes, char* from = nullptr) const {
    return {mesh_.to[At(peer)].get(), peer, bytes, from};
  }
  Flow From(std::int32_t peer, std::int64_t bytes, char* into = nullptr) const {
    return {mesh_.from[At(peer)].get(), peer, bytes, into};
  }
  /// What comes back on a connection that this member sends on, and the other end of it.
  Flow Back(std::int32_t peer, std::int64_t bytes) const { return To(peer, bytes); }
  Flow Answer(std::int32_t peer, std::int64_t bytes) const { return From(peer, bytes); }

  /// Waits until something moves.
  absl::Status Move(const std::vector<Flow*>& out, const std::vector<Flow*>& in) {
    std::vector<pollfd> polls;
    std::vector<Flow*> flows;
    for (const auto* side : {&out, &in}) {
      for (Flow* flow : *side) {
        if (flow->left <= 0) continue;
        flows.push_back(flow);
        polls.push_back({flow->fd, static_cast<short>(side == &out ? POLLOUT : POLLIN), 0});
      }
    }
    if (flows.empty()) return absl::OkStatus();
    const int ms = static_cast<int>(1000 * (until_s_ - SteadySeconds()));
    const int ready = ms <= 0 ? 0 : ::poll(polls.data(), polls.size(), ms);
    if (ready < 0) return errno == EINTR ? absl::OkStatus() : ErrnoStatus(errno, "poll");
    if (ready == 0) {
      return absl::DeadlineExceededError(
          absl::StrCat(Name(flows.back()->peer), " does not take part in measuring the network"));
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (polls[i].revents == 0) continue;
      Flow& flow = *flows[i];
      const bool sends = (polls[i].events & POLLOUT) != 0;
      const auto most = static_cast<std::size_t>(
          flow.bytes != nullptr ? flow.left
                                : std::min(flow.left, static_cast<std::int64_t>(nothing_.size())));
      char* const bytes = flow.bytes != nullptr ? flow.bytes : nothing_.data();
      const ssize_t moved =
          sends ? ::send(flow.fd, bytes, most, MSG_NOSIGNAL) : ::recv(flow.fd, bytes, most, 0);
      if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) continue;
      if (moved <= 0) return absl::UnavailableError(absl::StrCat(Name(flow.peer), " died or left"));
      flow.left -= moved;
      if (flow.bytes != nullptr) flow.bytes += moved;
    }
    return absl::OkStatus();
  }

  const Mesh& mesh_;
  const MeshOptions& options_;
  const std::int32_t size_;
  const double until_s_;
  std::vector<char> nothing_;
};

}  // namespace

std::int64_t ProbeBytes(const GroupFacts& facts) {
  if (facts.channels > 0 || facts.size < 2) return 0;
  const double bytes = kProbeSeconds / facts.seconds_per_byte;
  return static_cast<std::int64_t>(std::clamp(bytes, kProbeBytesMin, kProbeBytesMax));
}

GroupFacts WithMeasured(GroupFacts facts, const LinkMeasurement& agreed) {
  if (agreed.given != 0) return facts;
  facts.latency_s = agreed.latency_s;
  if (agreed.seconds_per_byte <= 0) return facts;
  facts.seconds_per_byte =
      facts.pacing_fraction > 0
          ? std::max(facts.seconds_per_byte, facts.pacing_fraction * agreed.seconds_per_byte)
          : agreed.seconds_per_byte;
  return facts;
}

LinkMeasurement AgreedOn(std::vector<LinkMeasurement> measured) {
  LinkMeasurement agreed;
  const auto by = [&](double LinkMeasurement::*field, std::size_t at) {
    std::nth_element(
        measured.begin(), measured.begin() + static_cast<std::ptrdiff_t>(at), measured.end(),
        [&](const LinkMeasurement& l, const LinkMeasurement& r) { return l.*field < r.*field; });
    return measured[at].*field;
  };
  agreed.latency_s = by(&LinkMeasurement::latency_s, measured.size() / 2);
  agreed.seconds_per_byte = by(&LinkMeasurement::seconds_per_byte, 3 * measured.size() / 4);
  agreed.given = by(&LinkMeasurement::given, measured.size() - 1);
  return agreed;
}

absl::StatusOr<LinkMeasurement> MeasureLinks(const Mesh& mesh, const MeshOptions& options,
                                             std::int64_t bytes, bool given) {
  LinkMeasurement mine;
  mine.given = given ? 1 : 0;
  Prober prober(mesh, options);
  const absl::StatusOr<double> latency_s = prober.Latency();
  if (!latency_s.ok()) return latency_s.status();
  mine.latency_s = *latency_s;
  if (bytes > 0) {
    const absl::StatusOr<double> seconds = prober.SecondsPerByte(bytes);
    if (!seconds.ok()) return seconds.status();
    mine.seconds_per_byte = *seconds;
  }
  absl::StatusOr<std::vector<LinkMeasurement>> all = prober.Exchange(mine);
  if (!all.ok()) return all.status();
  return AgreedOn(*std::move(all));
}

}  // namespace weir::reduce
