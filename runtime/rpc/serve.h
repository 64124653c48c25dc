#pragma once

// From a server to its Api: the edge at which requests are checked. Upstream: carriers, which bring
// calls to it. Downstream: the handlers of master, worker daemon and simulated worker.

#include <memory>
#include <utility>

#include "runtime/rpc/api.h"

namespace weir::rpc {

/// Checks each request, once, and hands its call to `server.Handle(Call<Method>)`. A service
/// without a handler for each of its methods does not compile. See ApiOf.
template <typename Service, typename Server>
struct Handlers {
  Server& server;

  template <typename Method>
  void Carry(Call<Method> call) {
    if constexpr (requires { server.Admit(Service()); }) {
      if (absl::Status admitted = server.Admit(Service()); !admitted.ok()) {
        return call.reply(std::move(admitted));
      }
    }
    if (absl::Status sound = Method::Check(call.request); !sound.ok()) {
      if constexpr (requires { server.Malformed(Method(), call.request, sound); }) {
        server.Malformed(Method(), call.request, sound);
      }
      return call.reply(std::move(sound));
    }
    server.Handle(std::move(call));
  }

  template <typename Method>
  requires(Method::kStreams) std::unique_ptr<Subscription> Carry(Call<Method> call) {
    if (absl::Status sound = Method::Check(call.request); !sound.ok()) {
      call.on_end(std::move(sound));
      return std::make_unique<Subscription>();
    }
    return server.Handle(std::move(call));
  }
};

/// Makes the Api of `server`, a class with a handler for each method of the service,
///   typename Call<Method>::Taken Handle(Call<Method> call);
/// and, where it has use for them,
///   absl::Status Admit(Service);  // not OK: the answer to whatever is asked now
///   void Malformed(Method, const typename Method::Request&, const absl::Status& why);
/// the second of which hears of the requests that their check refused. Streams are checked, and
/// know neither of the two. A handler may reply at once; its call must be made on the server's
/// loop.
/// Ownership: `server` outlives it.
/// Checked by: tests/unit/rpc/serve_test.cc.
template <typename Service, typename Server>
Api<Service> ApiOf(Server& server) {
  return Api<Service>(
      std::make_shared<Handlers<Service, Server>>(Handlers<Service, Server>{server}));
}

}  // namespace weir::rpc
