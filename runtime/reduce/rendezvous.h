#pragma once

// How members find each other. Upstream: group. Downstream: a master.

#include "absl/status/statusor.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/reduce/reduce.h"
#include "runtime/rpc/api.h"
#include "weir/v1/groups.pb.h"

namespace weir::reduce {

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Blocks until all have joined, or until the request's wait is over.
  virtual absl::StatusOr<v1::JoinGroupResponse> Join(const v1::JoinGroupRequest& request) = 0;
};

/// Asks to join through `jobs` until the master answers, or the request's wait is over.
///
/// A call that came to nothing (kUnavailable, kDeadlineExceeded), or that the master gave up for
/// another copy of it (kAborted), is asked again for what is left of the wait, under the same
/// member_key: the master takes it for the same member. Errors: the master's; what the last call
/// came to. Blocking: drives `loop` on the calling thread.
/// Checked by: tests/unit/reduce/join_master_test.cc.
absl::StatusOr<v1::JoinGroupResponse> AskToJoin(const rpc::JobApi& jobs, env::AsioEventLoop& loop,
                                                v1::JoinGroupRequest request);

/// Group::Join through any rendezvous.
absl::StatusOr<std::unique_ptr<Group>> JoinThrough(Rendezvous& rendezvous,
                                                   const GroupOptions& options);

}  // namespace weir::reduce
