#pragma once

// Which TCP congestion control a send uses. Upstream: data_server (a flag, the peer, the pacing).
// Downstream: DataSocket::SetCongestionControl.

#include <functional>
#include <string>

namespace weir::transfer {

/// Algorithm by kind of send; empty = the system's, which is left alone.
///
/// Measured on a switched network of 100 Mbit/s links (docs/benchmarks/network.md): alone at its
/// ports, a paced send loses nothing under either, but reno begins each one slowly, because the
/// connection was idle since the last; bbr goes at the pace at once (random shuffles 3 % shorter,
/// the first on new connections 5 %, equal ones the same). Many unpaced sends to one port are
/// another matter: bbr does not see short queues as full and lost two to nine times as much as
/// reno. cubic overshoots in slow start. Loopback has no queue to lose packets in and wants cubic.
struct CongestionChoice {
  std::string paced;
  std::string unpaced;
  std::string loopback;

  const std::string& For(bool to_loopback, bool is_paced) const {
    return to_loopback ? loopback : is_paced ? paced : unpaced;
  }
};

/// Says whether a socket of this process may use the algorithm: the kernel knows it and, without
/// privilege, allows it.
using MayUse = std::function<bool(const std::string& algorithm)>;
bool KernelMayUse(const std::string& algorithm);

/// Chooses. `wanted` is what an operator asked for, for every send; empty = by the kind of send:
/// paced bbr else reno, unpaced reno, loopback cubic. What may not be used is passed over, with a
/// line in the log when an operator asked for it.
CongestionChoice ChooseCongestionControl(const std::string& wanted, const MayUse& may_use);

}  // namespace weir::transfer
