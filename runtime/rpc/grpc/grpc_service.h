#pragma once

// One service as gRPC serves it. Upstream: the gRPC library, on its threads. Downstream: the Api of
// the server, on its loop.

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/caller_rules.h"
#include "runtime/rpc/grpc/method_path.h"
#include "runtime/rpc/grpc/open_calls.h"
#include "runtime/rpc/grpc/server_call.h"
#include "runtime/rpc/grpc/server_stream.h"

namespace weir::rpc {

/// Enters each row of the service's table with gRPC, in the way in which code that gRPC generates
/// from a .proto file does it. Reflection finds what is entered so; a generic service, gRPC's other
/// way to serve methods without generated code, it does not.
///
/// Ownership: loop and `api` outlive the server; `api` may be null as long as nothing is
/// registered.
template <typename Offered>
class GrpcService final : public grpc::Service {
 public:
  /// `rules`: what calls must show.
  GrpcService(env::EventLoop& loop, std::shared_ptr<OpenCalls> calls, CallerRules rules,
              const Api<Offered>* api)
      : loop_(loop), calls_(std::move(calls)), rules_(std::move(rules)), api_(api) {
    EnterAll(typename Offered::Methods());
  }

 private:
  template <typename... Methods>
  void EnterAll(MethodList<Methods...>) {
    (Enter<Methods>(), ...);
  }

  template <typename Method>
  void Enter() {
    using Request = typename Method::Request;
    using Response = typename Method::Response;
    using Context = grpc::CallbackServerContext;
    if constexpr (Method::kStreams) {
      EnterHandler(PathOf<Method>(), grpc::internal::RpcMethod::SERVER_STREAMING,
                   new grpc::internal::CallbackServerStreamingHandler<Request, Response>(
                       [this](Context* context, const Request* request) {
                         return ServeStream<Method>(*context, *request, loop_, calls_, rules_,
                                                    *api_);
                       }));
    } else {
      EnterHandler(PathOf<Method>(), grpc::internal::RpcMethod::NORMAL_RPC,
                   new grpc::internal::CallbackUnaryHandler<Request, Response>(
                       [this](Context* context, const Request* request, Response* response) {
                         return ServeUnary<Method>(context, *request, response, loop_, calls_,
                                                   rules_, *api_);
                       }));
    }
  }

  // gRPC owns method and handler.
  void EnterHandler(const char* path, grpc::internal::RpcMethod::RpcType type,
                    grpc::internal::MethodHandler* handler) {
    AddMethod(new grpc::internal::RpcServiceMethod(path, type, nullptr));
    MarkMethodCallback(num_methods_++, handler);
  }

  env::EventLoop& loop_;
  const std::shared_ptr<OpenCalls> calls_;
  const CallerRules rules_;
  const Api<Offered>* const api_;
  int num_methods_ = 0;
};

}  // namespace weir::rpc
