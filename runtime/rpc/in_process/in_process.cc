#include "runtime/rpc/in_process/in_process.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/rpc/pending_reply.h"

namespace weir::rpc {
namespace {

// A stream between two loops: `open` belongs to the caller's loop, `upstream` to the server's.
template <typename Method>
struct LinkedStream {
  Call<Method> call;
  bool open = true;
  std::unique_ptr<Subscription> upstream;
};

template <typename Method>
class LinkedSubscription final : public Subscription {
 public:
  LinkedSubscription(env::EventLoop& server, std::shared_ptr<LinkedStream<Method>> stream)
      : server_(server), stream_(std::move(stream)) {}
  ~LinkedSubscription() override {
    stream_->open = false;
    server_.Post([stream = stream_] { stream->upstream.reset(); });
  }

 private:
  env::EventLoop& server_;
  std::shared_ptr<LinkedStream<Method>> stream_;
};

// Carrier between two loops.
template <typename Service>
struct Link {
  env::EventLoop& caller;
  env::EventLoop& server;
  const Api<Service>& target;

  template <typename Method>
  void Carry(Call<Method> call) {
    auto pending = PendingReply<typename Method::Response>::Start(
        caller, call.timeout, Method::kName, std::move(call.reply));
    call.reply = [pending](absl::StatusOr<typename Method::Response> response) {
      pending->PostAnswer(std::move(response));
    };
    server.Post([&api = target, call = std::move(call)]() mutable { api.Take(std::move(call)); });
  }

  template <typename Method>
  requires(Method::kStreams) std::unique_ptr<Subscription> Carry(Call<Method> call) {
    auto stream = std::make_shared<LinkedStream<Method>>();
    stream->call = std::move(call);
    server.Post([&api = target, &loop = caller, stream] {
      stream->upstream = api.template Subscribe<Method>(
          std::move(stream->call.request),
          [&loop, stream](typename Method::Response message) {
            loop.Post([stream, message = std::move(message)]() mutable {
              if (stream->open) stream->call.on_message(std::move(message));
            });
          },
          [&loop, stream](absl::Status status) {
            loop.Post([stream, status = std::move(status)]() mutable {
              if (stream->open) stream->call.on_end(std::move(status));
            });
          });
    });
    return std::make_unique<LinkedSubscription<Method>>(server, std::move(stream));
  }
};

// Stands for an endpoint that nobody serves.
struct Unreachable {
  env::EventLoop& caller;
  const std::string endpoint;

  template <typename Method>
  void Carry(Call<Method> call) {
    caller.Post([reply = std::move(call.reply), status = absl::UnavailableError(absl::StrCat(
                                                    Method::kName, ": no worker listens at ",
                                                    endpoint))]() mutable { reply(status); });
  }
};

}  // namespace

template <typename Service>
std::unique_ptr<Api<Service>> ConnectInProcess(env::EventLoop& caller, env::EventLoop& server,
                                               const Api<Service>& target) {
  return std::make_unique<Api<Service>>(
      std::make_shared<Link<Service>>(Link<Service>{caller, server, target}));
}
template std::unique_ptr<JobApi> ConnectInProcess(env::EventLoop&, env::EventLoop&, const JobApi&);
template std::unique_ptr<ClusterApi> ConnectInProcess(env::EventLoop&, env::EventLoop&,
                                                      const ClusterApi&);
template std::unique_ptr<WorkerApi> ConnectInProcess(env::EventLoop&, env::EventLoop&,
                                                     const WorkerApi&);

void InProcessWorkers::Announce(const std::string& control_endpoint, env::EventLoop& loop,
                                const WorkerApi& worker) {
  workers_[control_endpoint] = Worker{&loop, &worker};
}
void InProcessWorkers::Withdraw(const std::string& control_endpoint) {
  workers_.erase(control_endpoint);
}
std::unique_ptr<WorkerApi> InProcessWorkers::Connect(const std::string& control_endpoint) {
  const auto found = workers_.find(control_endpoint);
  if (found == workers_.end()) {
    return std::make_unique<WorkerApi>(
        std::make_shared<Unreachable>(Unreachable{caller_, control_endpoint}));
  }
  return ConnectInProcess(caller_, *found->second.loop, *found->second.api);
}
void InProcessWorkers::AskIfGone(const std::string& control_endpoint, absl::Duration /*timeout*/,
                                 absl::AnyInvocable<void(bool gone)> on_answer) {
  const bool gone = !workers_.contains(control_endpoint);
  caller_.Post([gone, on_answer = std::move(on_answer)]() mutable { on_answer(gone); });
}
void InProcessWorkers::AskWho(const std::string& control_endpoint,
                              Reply<v1::IdentifyResponse> on_answer) {
  Connect(control_endpoint)->Send<Identify>({}, std::move(on_answer));
}
std::unique_ptr<Subscription> InProcessWorkers::HoldOpen(
    const std::string& /*control_endpoint*/, absl::AnyInvocable<void(bool was_open)> /*on_end*/) {
  return std::make_unique<Subscription>();
}

}  // namespace weir::rpc
