#include "runtime/rpc/grpc/callback_queue.h"

#include <google/protobuf/empty.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <memory>
#include <mutex>

namespace weir::rpc {
namespace {

// A channel takes its reference with its first callback call and keeps it until it is destroyed.
// This one has no credentials, so the call ends at once and no socket is opened; all of it lives as
// long as the process.
struct Pin {
  using Empty = google::protobuf::Empty;
  std::shared_ptr<grpc::Channel> channel = grpc::CreateChannel("", nullptr);
  grpc::TemplatedGenericStub<Empty, Empty> stub{channel};
  grpc::ClientContext context;
  Empty request, response;
};

}  // namespace

void KeepCallbackQueue() {
  static std::once_flag once;
  std::call_once(once, [] {
    static Pin* const pin = new Pin;
    pin->stub.UnaryCall(&pin->context, "/weir/Pin", grpc::StubOptions(), &pin->request,
                        &pin->response, [](const grpc::Status&) {});
  });
}

}  // namespace weir::rpc
