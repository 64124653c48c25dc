#include "runtime/master/plan_stream.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/env/callback_scope.h"
#include "runtime/rpc/plan_pieces.h"

namespace weir::master {
namespace {

struct Listener {
  absl::AnyInvocable<void(v1::PlanPiece)> on_piece;
  absl::AnyInvocable<void(absl::Status)> on_end;
  bool gone = false;
};

class Leaves final : public rpc::Subscription {
 public:
  explicit Leaves(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}
  ~Leaves() override { listener_->gone = true; }

 private:
  const std::shared_ptr<Listener> listener_;
};

using Pieces = absl::StatusOr<std::vector<v1::PlanPiece>>;

// Whoever hears a piece may leave.
void Tell(Listener& listener, Pieces pieces) {
  if (pieces.ok()) {
    for (v1::PlanPiece& piece : *pieces) {
      if (!listener.gone) listener.on_piece(std::move(piece));
    }
  }
  if (!listener.gone) listener.on_end(pieces.status());
}

}  // namespace

PlanStream OpenPlanStream(env::EventLoop& loop, env::WorkPool& pool,
                          absl::AnyInvocable<void(v1::PlanPiece)> on_piece,
                          absl::AnyInvocable<void(absl::Status)> on_end, std::size_t piece_bytes) {
  auto listener = std::make_shared<Listener>();
  listener->on_piece = std::move(on_piece);
  listener->on_end = std::move(on_end);
  auto reply = [&loop, &pool, listener, piece_bytes](absl::StatusOr<v1::GetPlanResponse> answer) {
    if (listener->gone) return;
    const auto tell = [listener](Pieces pieces) { Tell(*listener, std::move(pieces)); };
    if (answer.ok() && answer->ByteSizeLong() > piece_bytes) {
      return env::Offload(
          loop, pool,
          [plan = *std::move(answer), piece_bytes] { return rpc::CutPlan(plan, piece_bytes); },
          tell);
    }
    Pieces pieces = answer.ok() ? rpc::CutPlan(*answer, piece_bytes) : Pieces(answer.status());
    loop.Post([tell, pieces = std::move(pieces)]() mutable { tell(std::move(pieces)); });
  };
  return {std::move(reply), std::make_unique<Leaves>(std::move(listener))};
}

}  // namespace weir::master
