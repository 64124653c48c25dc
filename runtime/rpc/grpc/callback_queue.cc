#include "runtime/rpc/grpc/callback_queue.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>

#include "weir/v1/services.grpc.pb.h"

namespace weir::rpc {
namespace {

// A channel takes its reference with its first callback call and keeps it until it is destroyed.
// This one has no credentials, so the call ends at once and no socket is opened; all of it lives as
// long as the process.
struct Pin {
  std::shared_ptr<grpc::Channel> channel = grpc::CreateChannel("", nullptr);
  std::unique_ptr<v1::JobService::Stub> stub = v1::JobService::NewStub(channel);
  grpc::ClientContext context;
  v1::ListWorkersRequest request;
  v1::ListWorkersResponse response;
};

}  // namespace

void KeepCallbackQueue() {
  static std::once_flag once;
  std::call_once(once, [] {
    static Pin* const pin = new Pin;
    pin->stub->async()->ListWorkers(&pin->context, &pin->request, &pin->response,
                                    [](const grpc::Status&) {});
  });
}

}  // namespace weir::rpc
