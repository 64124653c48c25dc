#include "runtime/rpc/in_process/in_process.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/rpc/clients.h"
#include "runtime/rpc/pending_reply.h"

namespace weir::rpc {
namespace {

template <typename Api, typename Request, typename Response>
using Method = void (Api::*)(Request, absl::Duration, Reply<Response>);

// A stream between two loops: `open` belongs to the caller's loop, `upstream` to the server's.
struct Stream {
  bool open = true;
  std::unique_ptr<Subscription> upstream;
  absl::AnyInvocable<void(v1::JobStatus)> on_status;
  absl::AnyInvocable<void(absl::Status)> on_end;
};

class StreamSubscription final : public Subscription {
 public:
  StreamSubscription(env::EventLoop& server, std::shared_ptr<Stream> stream)
      : server_(server), stream_(std::move(stream)) {}
  ~StreamSubscription() override {
    stream_->open = false;
    server_.Post([stream = stream_] { stream->upstream.reset(); });
  }

 private:
  env::EventLoop& server_;
  std::shared_ptr<Stream> stream_;
};

template <typename Api>
struct Link {
  env::EventLoop& caller;
  env::EventLoop& server;
  Api& target;

  template <typename Request, typename Response>
  void Call(const char* name, Method<Api, Request, Response> method, Request request,
            absl::Duration timeout, Reply<Response> reply) {
    auto pending = PendingReply<Response>::Start(caller, timeout, name, std::move(reply));
    server.Post([&api = target, method, request = std::move(request), timeout,
                 pending = std::move(pending)]() mutable {
      (api.*method)(std::move(request), timeout,
                    [pending = std::move(pending)](absl::StatusOr<Response> response) {
                      pending->PostAnswer(std::move(response));
                    });
    });
  }

  std::unique_ptr<Subscription> Watch(v1::WatchRequest request,
                                      absl::AnyInvocable<void(v1::JobStatus)> on_status,
                                      absl::AnyInvocable<void(absl::Status)> on_end) {
    auto stream = std::make_shared<Stream>();
    stream->on_status = std::move(on_status);
    stream->on_end = std::move(on_end);
    server.Post([link = *this, stream, request = std::move(request)]() mutable {
      stream->upstream = link.target.Watch(
          std::move(request),
          [&caller = link.caller, stream](v1::JobStatus status) {
            caller.Post([stream, status = std::move(status)]() mutable {
              if (stream->open) stream->on_status(std::move(status));
            });
          },
          [&caller = link.caller, stream](absl::Status status) {
            caller.Post([stream, status = std::move(status)]() mutable {
              if (stream->open) stream->on_end(std::move(status));
            });
          });
    });
    return std::make_unique<StreamSubscription>(server, std::move(stream));
  }
};

// Stands for an endpoint that nobody serves.
struct Unreachable {
  env::EventLoop& caller;
  std::string endpoint;

  template <typename Api, typename Request, typename Response>
  void Call(const char* name, Method<Api, Request, Response>, Request, absl::Duration,
            Reply<Response> reply) {
    caller.Post([reply = std::move(reply),
                 status = absl::UnavailableError(absl::StrCat(
                     name, ": no worker listens at ", endpoint))]() mutable { reply(status); });
  }
};

}  // namespace

std::unique_ptr<JobApi> ConnectJobApi(env::EventLoop& caller, env::EventLoop& server,
                                      JobApi& target) {
  return std::make_unique<JobClient<Link<JobApi>>>(Link<JobApi>{caller, server, target});
}
std::unique_ptr<ClusterApi> ConnectClusterApi(env::EventLoop& caller, env::EventLoop& server,
                                              ClusterApi& target) {
  return std::make_unique<ClusterClient<Link<ClusterApi>>>(
      Link<ClusterApi>{caller, server, target});
}
std::unique_ptr<WorkerApi> ConnectWorkerApi(env::EventLoop& caller, env::EventLoop& server,
                                            WorkerApi& target) {
  return std::make_unique<WorkerClient<Link<WorkerApi>>>(Link<WorkerApi>{caller, server, target});
}

void InProcessWorkers::Announce(const std::string& control_endpoint, env::EventLoop& loop,
                                WorkerApi& worker) {
  workers_[control_endpoint] = Worker{&loop, &worker};
}
void InProcessWorkers::Withdraw(const std::string& control_endpoint) {
  workers_.erase(control_endpoint);
}
std::unique_ptr<WorkerApi> InProcessWorkers::Connect(const std::string& control_endpoint) {
  const auto found = workers_.find(control_endpoint);
  if (found == workers_.end()) {
    return std::make_unique<WorkerClient<Unreachable>>(Unreachable{caller_, control_endpoint});
  }
  return ConnectWorkerApi(caller_, *found->second.loop, *found->second.api);
}
void InProcessWorkers::AskIfGone(const std::string& control_endpoint, absl::Duration /*timeout*/,
                                 absl::AnyInvocable<void(bool gone)> on_answer) {
  const bool gone = !workers_.contains(control_endpoint);
  caller_.Post([gone, on_answer = std::move(on_answer)]() mutable { on_answer(gone); });
}

}  // namespace weir::rpc
