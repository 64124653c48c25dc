// Probes of a simulated worker: ports of the model's rate, nothing shared beyond them.

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/world.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kProbeRoundTrip = absl::Microseconds(200);

}  // namespace

void SimWorker::Probe(v1::ProbeRequest request, absl::Duration /*timeout*/,
                      rpc::Reply<v1::ProbeResponse> reply) {
  if (absl::Status fence = CheckFence(request.fence()); !fence.ok()) return reply(fence);
  if (!jobs_.empty()) world_.Wrong(absl::StrCat("a probe on ", model_.name, " during a job"));
  if (!request.has_fetch()) {
    served_probe_ = request.has_serve() ? request.token() : 0;
    return reply(v1::ProbeResponse());
  }
  const v1::ProbeRequest::Fetch fetch = request.fetch();
  const double seconds = fetch.warm_up_s() + fetch.window_s() + fetch.tail_s() +
                         fetch.round_trips() * absl::ToDoubleSeconds(kProbeRoundTrip);
  loop_->RunAt(
      loop_->Now() + absl::Seconds(seconds),
      [this, fetch, seconds, token = request.token(), reply = std::move(reply)]() mutable {
        const SimWorker* sender = world_.FindWorker(fetch.source_worker());
        if (sender == nullptr || !sender->loop()->alive()) {
          return reply(absl::FailedPreconditionError(
              absl::StrCat("cannot fetch from worker ", fetch.source_worker(), " (simulated)")));
        }
        if (sender->served_probe_ != token) {
          return reply(absl::PermissionDeniedError("wrong token for this calibration (simulated)"));
        }
        const double slowness = std::max(model_.slowness, sender->model().slowness);
        const double rate = 1 / (model_.channel_seconds_per_byte * slowness);
        v1::ProbeResponse response;
        response.set_bytes(std::llround(rate * fetch.window_s()));
        response.set_seconds(fetch.window_s());
        response.set_first_byte_s(absl::ToDoubleSeconds(kProbeRoundTrip));
        response.set_busy_s(seconds);
        reply(std::move(response));
      });
}

}  // namespace weir::sim
