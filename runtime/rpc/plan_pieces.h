#pragma once

// A plan of any size on its way to a client. One message holds limits::kMessageBytesMax; the plan
// of a thousand by a thousand transfers, with what became of them, takes more. Upstream: Master.
// Downstream: clients.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/limits.h"
#include "weir/v1/services.pb.h"

namespace weir::rpc {

/// Cuts an answer, as it is serialised, into pieces that follow each other; at least one.
/// Errors: kResourceExhausted for what protobuf can say in no message, however it is sent (2 GiB).
/// Checked by: tests/unit/rpc/plan_pieces_test.cc.
absl::StatusOr<std::vector<v1::PlanPiece>> CutPlan(
    const v1::GetPlanResponse& answer, std::size_t piece_bytes = limits::kPlanPieceBytes);

/// Puts the pieces of one answer together again.
/// Bounds: holds no more than the first piece says that there is.
class PlanPieces {
 public:
  /// Takes the next one.
  void Add(const v1::PlanPiece& piece);
  /// Returns the answer. Errors: kDataLoss when pieces are missing, or do not belong together.
  absl::StatusOr<v1::GetPlanResponse> Whole() const;

 private:
  bool begun_ = false;
  bool fit_ = true;  // no piece is beyond the end
  std::int64_t bytes_ = 0;
  std::string text_;
};

}  // namespace weir::rpc
