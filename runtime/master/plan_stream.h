#pragma once

// One plan, told piece by piece. Upstream: Master. Downstream: the carrier of the call.

#include <cstddef>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/base/limits.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/call.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

struct PlanStream {
  /// Takes the plan, or why there is none.
  rpc::Reply<v1::GetPlanResponse> reply;
  std::unique_ptr<rpc::Subscription> subscription;
};

/// Opens a stream on which pieces of the plan come once there is one. Plans of more than one piece
/// are cut on `pool`: gigabytes would keep the loop for seconds.
/// Thread-safety: on the loop only. Callbacks come in later turns, never from inside a call.
/// Ownership: loop and pool outlive the stream.
/// Checked by: tests/unit/master/plan_stream_test.cc.
PlanStream OpenPlanStream(env::EventLoop& loop, env::WorkPool& pool,
                          absl::AnyInvocable<void(v1::PlanPiece)> on_piece,
                          absl::AnyInvocable<void(absl::Status)> on_end,
                          std::size_t piece_bytes = limits::kPlanPieceBytes);

}  // namespace weir::master
