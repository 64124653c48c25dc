#pragma once

// The RPC surfaces as their callers see them: JobApi, ClusterApi, WorkerApi. An Api stands on a
// carrier: runtime/rpc/grpc carries calls between processes, runtime/rpc/in_process between loops
// of one process, tests/sim under virtual time, and serve.h hands them to a server at once.

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "runtime/rpc/call.h"

namespace weir::rpc {

/// All methods of one service, over a carrier of which it tells nothing. A carrier is a class with
///   template <typename Method> typename Call<Method>::Taken Carry(Call<Method> call);
///
/// Thread-safety: on the loop of the caller only.
/// Example: jobs.Send<rpc::Cancel>(request, [](const absl::StatusOr<v1::CancelResponse>&) {});
/// Checked by: tests/unit/rpc/in_process_test.cc, grpc_test.cc (every method over every carrier).
template <typename Service, typename Methods = typename Service::Methods>
class Api;

template <typename Service, typename... Methods>
class Api<Service, MethodList<Methods...>> {
 public:
  template <typename Carrier>
  explicit Api(std::shared_ptr<Carrier> carrier)
      : takers_([carrier](Call<Methods> call) { return carrier->Carry(std::move(call)); }...) {}

  /// Asks once; waits for as long as the method's row says.
  template <typename Method>
  void Send(typename Method::Request request, Reply<typename Method::Response> reply) const {
    Take(Call<Method>{std::move(request), std::move(reply)});
  }
  /// Asks once; for callers that know better how long to wait.
  template <typename Method>
  void Send(typename Method::Request request, absl::Duration timeout,
            Reply<typename Method::Response> reply) const {
    Take(Call<Method>{std::move(request), std::move(reply), timeout});
  }
  /// Opens a stream, which lasts until one of its ends leaves it.
  template <typename Method>
  std::unique_ptr<Subscription> Subscribe(
      typename Method::Request request,
      absl::AnyInvocable<void(typename Method::Response)> on_message,
      absl::AnyInvocable<void(absl::Status)> on_end) const {
    return Take(Call<Method>{std::move(request), std::move(on_message), std::move(on_end)});
  }
  /// Passes on a call that came from elsewhere.
  template <typename Method>
  typename Call<Method>::Taken Take(Call<Method> call) const {
    return std::get<Taker<Method>>(takers_)(std::move(call));
  }

 private:
  template <typename Method>
  using Taker = std::function<typename Call<Method>::Taken(Call<Method>)>;

  std::tuple<Taker<Methods>...> takers_;
};

using JobApi = Api<JobService>;
using ClusterApi = Api<ClusterService>;
using WorkerApi = Api<WorkerService>;

/// Opens the way to a worker's control endpoint. Never blocks; an unreachable worker shows at the
/// first call.
class WorkerConnector {
 public:
  virtual ~WorkerConnector() = default;
  virtual std::unique_ptr<WorkerApi> Connect(const std::string& control_endpoint) = 0;
  /// Tries, over a connection of its own, whether a worker's process is gone. `on_answer` comes
  /// exactly once, on the loop of the caller, within `timeout`: true only when the host itself says
  /// that nobody listens there. Silence and every other failure tell nothing, and are false.
  virtual void AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                         absl::AnyInvocable<void(bool gone)> on_answer) = 0;
  /// Asks who listens there, over a connection of its own, which is held up by no older attempt.
  /// Errors: those of every call; kUnimplemented from a worker of a version that knows no Identify.
  virtual void AskWho(const std::string& control_endpoint,
                      Reply<v1::IdentifyResponse> on_answer) = 0;
  /// Keeps a connection to a worker's process open for as long as the subscription lives. `on_end`
  /// comes at most once, on the loop of the caller and never inside its turn, when it cannot be
  /// made or has broken; `was_open`: the process had answered over it. A break proves nothing of
  /// the process by itself. What cannot end alone, as a part of this process, never says so.
  virtual std::unique_ptr<Subscription> HoldOpen(
      const std::string& control_endpoint, absl::AnyInvocable<void(bool was_open)> on_end) = 0;
};

}  // namespace weir::rpc
