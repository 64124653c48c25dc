#pragma once

// Connections between all members of a group: one a pair and direction. Data travel from who
// connected; grants, inquiries, aborts and goodbyes come back on the same connection.
// Upstream/Downstream: the meshes of the other members.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/fd.h"

namespace weir::reduce {

/// A listening socket for the other members.
struct Listener {
  Fd fd;
  std::string endpoint;  // "host:port"

  /// Errors: kInvalidArgument naming the address; else those of bind.
  static absl::StatusOr<Listener> Open(const std::string& host_and_port);
};

struct MeshOptions {
  std::string group_id;
  std::string token;
  std::int32_t rank = 0;
  std::vector<std::string> endpoints;  // by rank
  /// Payload bytes a second that a sender is paced at; 0 = unpaced.
  double paced_bytes_per_s = 0;
  absl::Duration timeout = absl::Seconds(60);
};

/// Open connections, by rank; none to oneself. Sockets do not block, send small frames at once and,
/// while nothing waits in them to be sent, find a host that is gone within kPeerSilence.
struct Mesh {
  /// This member sends data and reads answers.
  std::vector<Fd> to;
  /// This member receives data and writes answers.
  std::vector<Fd> from;
  /// Bytes that a socket takes before it says that it has enough.
  std::int64_t send_ahead_bytes = 0;

  /// A host that does not answer for so long is gone.
  static constexpr absl::Duration kPeerSilence = absl::Seconds(8);

  /// Connects to every other member and waits until every other member has connected. Strangers,
  /// who do not show the token, are closed.
  /// Errors: kDeadlineExceeded or kUnavailable naming the member; kResourceExhausted where this
  ///   process may open no more files.
  /// Checked by: tests/unit/reduce/mesh_test.cc.
  static absl::StatusOr<Mesh> Connect(const Listener& listener, const MeshOptions& options);

  /// Waits until what was sent has arrived, at most `patience`, then closes everything.
  void Close(absl::Duration patience);
};

}  // namespace weir::reduce
