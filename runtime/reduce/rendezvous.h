#pragma once

// How members find each other. Upstream: group. Downstream: a master.

#include "absl/status/statusor.h"
#include "runtime/reduce/reduce.h"
#include "weir/v1/groups.pb.h"

namespace weir::reduce {

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Blocks until all have joined, or until the request's wait is over.
  virtual absl::StatusOr<v1::JoinGroupResponse> Join(const v1::JoinGroupRequest& request) = 0;
};

/// Group::Join through any rendezvous.
absl::StatusOr<std::unique_ptr<Group>> JoinThrough(Rendezvous& rendezvous,
                                                   const GroupOptions& options);

}  // namespace weir::reduce
