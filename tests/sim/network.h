#pragma once

// Calls between simulated processes: delayed, reordered, lost, delivered twice, late.
// Upstream: World. Downstream: the RPC interfaces of master and workers.

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/rpc/api.h"
#include "tests/sim/call_faults.h"
#include "tests/sim/cuts.h"
#include "tests/sim/virtual_time.h"

namespace weir::sim {

/// A process that can be called.
struct Endpoint {
  std::shared_ptr<ProcessLoop> loop;
  const rpc::ClusterApi* cluster = nullptr;
  const rpc::WorkerApi* worker = nullptr;
  const rpc::JobApi* jobs = nullptr;

  const rpc::ClusterApi& Serving(rpc::ClusterService) const { return *cluster; }
  const rpc::WorkerApi& Serving(rpc::WorkerService) const { return *worker; }
  const rpc::JobApi& Serving(rpc::JobService) const { return *jobs; }
};

/// A process that calls, and the name of its host.
struct Caller {
  std::shared_ptr<ProcessLoop> loop;
  std::string host;
};

/// How bad the network is. Requests and answers suffer alike.
struct NetworkFaults {
  double drop = 0;
  double duplicate = 0;
  absl::Duration delay_min = absl::Microseconds(100);
  absl::Duration delay_max = absl::Microseconds(300);
};

/// Carries calls. Every message draws its own delay, so messages overtake each other; those of one
/// stream keep their order.
class Network final : public rpc::WorkerConnector {
 public:
  Network(VirtualTime& time, SeededRandom& random) : time_(time), random_(random) {}
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  void SetFaults(const NetworkFaults& faults) { faults_ = faults; }
  /// Faults of single methods.
  CallFaults& call_faults() { return call_faults_; }
  Cuts& cuts() { return cuts_; }
  /// Messages that never arrived.
  std::int64_t lost() const { return lost_; }
  /// Those of them that a cut has swallowed.
  std::int64_t lost_in_cuts() const { return lost_in_cuts_; }
  /// True while a call is delivered so late that its receiver may refuse it with any error.
  bool delivers_late() const { return delivers_late_; }
  void Attach(const std::string& address, Endpoint endpoint) { endpoints_[address] = endpoint; }
  /// The process is gone: streams from it break.
  void Detach(const std::string& address);
  /// The process that listens there has died: connections that are held open to it break.
  void BreakHeld(const std::string& control_endpoint);
  /// Sets whose loop the connections of the master answer on.
  void SetMasterLoop(std::shared_ptr<ProcessLoop> loop) { master_loop_ = std::move(loop); }

  /// The master's way to a worker.
  std::unique_ptr<rpc::WorkerApi> Connect(const std::string& control_endpoint) override;
  void AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                 absl::AnyInvocable<void(bool gone)> on_answer) override;
  void AskWho(const std::string& control_endpoint,
              rpc::Reply<v1::IdentifyResponse> on_answer) override;
  std::unique_ptr<rpc::Subscription> HoldOpen(
      const std::string& control_endpoint, absl::AnyInvocable<void(bool was_open)> on_end) override;
  /// A worker's way to the master.
  std::unique_ptr<rpc::ClusterApi> ConnectMaster(Caller caller);
  /// A user's way to the master.
  std::unique_ptr<rpc::JobApi> ConnectUser(Caller caller);

  /// One call to whoever has `address` when the request arrives.
  template <typename Method>
  void Carry(const Caller& caller, const std::string& address, rpc::Call<Method> call) {
    auto pending = std::make_shared<ReplyOf<Method>>(std::move(call.reply));
    caller.loop->RunAt(time_.now() + call.timeout, [pending] {
      if (*pending) {
        std::exchange(*pending, nullptr)(absl::DeadlineExceededError("no answer (simulated)"));
      }
    });
    const CallFault fault = call_faults_.Draw(NameOfMethod<Method>(), random_);
    if (fault == CallFault::kRequestLost) return Strike<Method>(fault);
    const auto request = std::make_shared<typename Method::Request>(std::move(call.request));
    const bool twice = random_.Chance(faults_.duplicate) || fault == CallFault::kTwice;
    for (int i = 0; i < (twice ? 2 : 1); ++i) {
      if (Loses()) continue;
      const absl::Duration delay = fault == CallFault::kLate ? LateDelay() : Delay();
      time_.At(time_.now() + delay, nullptr, [this, caller, address, request, pending, fault] {
        Deliver<Method>(caller, address, request, pending, fault);
      });
    }
  }

  /// Opens a stream from whoever has `address` when the request arrives.
  template <typename Method>
  requires(Method::kStreams) std::unique_ptr<rpc::Subscription> Carry(const Caller& caller,
                                                                      const std::string& address,
                                                                      rpc::Call<Method> call) {
    auto stream = std::make_shared<StreamOf<Method>>();
    stream->caller = caller;
    stream->on_message = std::move(call.on_message);
    stream->on_end = std::move(call.on_end);
    const CallFault fault = call_faults_.Draw(NameOfMethod<Method>(), random_);
    if (fault == CallFault::kRequestLost || Loses()) {
      if (fault == CallFault::kRequestLost) Strike<Method>(fault);
      EndStream(stream, kBrokenNoticed, absl::UnavailableError("no connection (simulated)"));
    } else {
      const absl::Duration delay = fault == CallFault::kLate ? LateDelay() : Delay();
      time_.At(time_.now() + delay, nullptr,
               [this, stream, address, request = call.request, fault] {
                 Open<Method>(stream, address, request, fault);
               });
    }
    return std::make_unique<Leaves>(*this, stream);
  }

 private:
  // When a caller hears that a connection broke.
  static constexpr absl::Duration kBrokenNoticed = absl::Milliseconds(500);

  template <typename Method>
  using ReplyOf = rpc::Reply<typename Method::Response>;

  // The caller's end of one stream and the server's.
  struct Stream {
    virtual ~Stream() = default;
    Caller caller;
    std::string address;
    absl::AnyInvocable<void(absl::Status)> on_end;
    std::list<std::unique_ptr<rpc::Subscription>> serving;
    MonoTime last_arrival;
    bool over = false;  // the caller has left it or was told its end
  };
  using StreamPtr = std::shared_ptr<Stream>;
  template <typename Method>
  struct StreamOf final : Stream {
    absl::AnyInvocable<void(typename Method::Response)> on_message;
  };
  class Leaves final : public rpc::Subscription {
   public:
    Leaves(Network& network, StreamPtr stream) : network_(network), stream_(std::move(stream)) {}
    ~Leaves() override { network_.LeaveStream(stream_); }

   private:
    Network& network_;
    const StreamPtr stream_;
  };

  // A connection that nothing moves over.
  struct HeldOpen {
    std::shared_ptr<ProcessLoop> caller;
    absl::AnyInvocable<void(bool was_open)> on_end;  // null: it was left, or has ended
  };
  struct LeavesHeld final : rpc::Subscription {
    explicit LeavesHeld(std::shared_ptr<HeldOpen> one) : held(std::move(one)) {}
    ~LeavesHeld() override { held->on_end = nullptr; }
    const std::shared_ptr<HeldOpen> held;
  };
  void EndHeld(const std::shared_ptr<HeldOpen>& held, bool was_open);

  template <typename Method>
  static const std::string& NameOfMethod() {
    static const std::string name = absl::StrCat(Method::Service::kName, ".", Method::kName);
    return name;
  }
  template <typename Method>
  void Strike(CallFault fault) {
    if (fault != CallFault::kNone) call_faults_.Strike(NameOfMethod<Method>(), fault);
  }

  bool Loses() {
    const bool loses = random_.Chance(faults_.drop);
    lost_ += loses ? 1 : 0;
    return loses;
  }
  bool Swallows(const std::string& from, const std::string& to) {
    const bool swallows = cuts_.Blocks(from, to);
    lost_ += swallows ? 1 : 0;
    lost_in_cuts_ += swallows ? 1 : 0;
    return swallows;
  }
  absl::Duration Delay() { return random_.Duration(faults_.delay_min, faults_.delay_max); }
  // Beyond the deadlines of almost all calls, and of all tries of most.
  absl::Duration LateDelay() { return random_.Duration(absl::Seconds(3), absl::Seconds(20)); }
  static std::string HostOf(const std::string& address) {
    return address.substr(0, address.find(':'));
  }

  template <typename Method>
  void Deliver(const Caller& caller, const std::string& address,
               const std::shared_ptr<typename Method::Request>& request,
               std::shared_ptr<ReplyOf<Method>> pending, CallFault fault) {
    const std::string host = HostOf(address);
    if (Swallows(caller.host, host)) return;
    const auto it = endpoints_.find(address);
    if (it == endpoints_.end() || !it->second.loop->alive()) {
      return Answer<Method>(
          caller, host, std::move(pending),
          absl::UnavailableError(absl::StrCat("nobody at ", address, " (simulated)")));
    }
    Strike<Method>(fault);
    if (fault == CallFault::kUnknown) {
      return Answer<Method>(caller, host, std::move(pending),
                            absl::UnimplementedError("no such call (simulated)"));
    }
    if (fault == CallFault::kErrorOfDone) {
      Answer<Method>(caller, host, pending, absl::UnavailableError("connection reset (simulated)"));
    }
    it->second.loop->Post([this, endpoint = it->second, request, caller, host, pending, fault] {
      const auto answer = [this, caller, host, pending,
                           fault](absl::StatusOr<typename Method::Response> response) {
        if (fault == CallFault::kAnswerLost || fault == CallFault::kErrorOfDone || Loses()) return;
        Answer<Method>(caller, host, pending, std::move(response));
      };
      delivers_late_ = fault == CallFault::kLate;
      endpoint.Serving(typename Method::Service()).template Send<Method>(*request, answer);
      delivers_late_ = false;
    });
  }

  template <typename Method>
  void Answer(const Caller& caller, const std::string& from,
              std::shared_ptr<ReplyOf<Method>> pending,
              absl::StatusOr<typename Method::Response> response) {
    if (Swallows(from, caller.host)) return;
    caller.loop->RunAt(time_.now() + Delay(),
                       [pending = std::move(pending), response = std::move(response)]() mutable {
                         if (*pending) std::exchange(*pending, nullptr)(std::move(response));
                       });
  }

  template <typename Method>
  void Open(const std::shared_ptr<StreamOf<Method>>& stream, const std::string& address,
            const typename Method::Request& request, CallFault fault) {
    if (stream->over) return;
    const auto it = endpoints_.find(address);
    const bool cut = Swallows(stream->caller.host, HostOf(address));
    if (cut || it == endpoints_.end() || !it->second.loop->alive()) {
      return EndStream(stream, cut ? kBrokenNoticed : Delay(),
                       absl::UnavailableError(absl::StrCat("nobody at ", address, " (simulated)")));
    }
    Strike<Method>(fault);
    stream->address = address;
    streams_.push_back(stream);
    it->second.loop->Post([this, endpoint = it->second, request, stream, fault] {
      if (stream->over) return;
      const bool heard = fault != CallFault::kAnswerLost && fault != CallFault::kErrorOfDone;
      const int copies = fault == CallFault::kTwice ? 2 : 1;
      for (int copy = 0; copy < copies; ++copy) {
        stream->serving.push_back(
            endpoint.Serving(typename Method::Service())
                .template Subscribe<Method>(
                    request, MessageOf<Method>(stream, heard && copy == 0),
                    [this, stream, heard = heard && copy == 0](const absl::Status& status) {
                      if (heard) EndStream(stream, Delay(), status);
                    }));
      }
      // It is served for a while, and its caller hears nothing but that it broke.
      if (fault == CallFault::kErrorOfDone) BreakStream(stream, absl::ZeroDuration());
      if (fault == CallFault::kAnswerLost) BreakStream(stream, kBrokenNoticed);
    });
  }
  template <typename Method>
  absl::AnyInvocable<void(typename Method::Response)> MessageOf(
      const std::shared_ptr<StreamOf<Method>>& stream, bool heard) {
    return [this, stream, heard](typename Method::Response response) {
      if (!heard || stream->over) return;
      if (cuts_.Part(stream->caller.host, HostOf(stream->address))) {
        ++lost_in_cuts_;
        return BreakStream(stream, kBrokenNoticed);
      }
      stream->last_arrival = std::max(stream->last_arrival, time_.now() + Delay());
      stream->caller.loop->RunAt(stream->last_arrival,
                                 [stream, response = std::move(response)]() mutable {
                                   if (!stream->over) stream->on_message(std::move(response));
                                 });
    };
  }
  void BreakStream(const StreamPtr& stream, absl::Duration noticed);
  // Tells the caller in order, behind the messages that are on their way.
  void EndStream(const StreamPtr& stream, absl::Duration delay, absl::Status status);
  void LeaveStream(const StreamPtr& stream);
  void StopServing(const StreamPtr& stream);

  VirtualTime& time_;
  SeededRandom& random_;
  NetworkFaults faults_;
  CallFaults call_faults_;
  Cuts cuts_;
  std::int64_t lost_ = 0;
  std::int64_t lost_in_cuts_ = 0;
  bool delivers_late_ = false;
  std::map<std::string, Endpoint> endpoints_;
  std::shared_ptr<ProcessLoop> master_loop_;
  std::list<StreamPtr> streams_;  // that a server serves
  // By endpoint, until its process dies.
  std::multimap<std::string, std::shared_ptr<HeldOpen>> held_;
};

}  // namespace weir::sim
