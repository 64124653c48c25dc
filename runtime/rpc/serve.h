#pragma once

// From a server to its Api. Upstream: carriers, which bring calls to it. Downstream: the handlers
// of master, worker daemon and simulated worker.

#include <memory>
#include <utility>

#include "runtime/rpc/api.h"

namespace weir::rpc {

/// Hands each call to `server.Handle(Call<Method>)`. A service without a handler for each of its
/// methods does not compile. See ApiOf.
template <typename Service, typename Server>
struct Handlers {
  Server& server;

  template <typename Method>
  typename Call<Method>::Taken Carry(Call<Method> call) {
    if constexpr (!Method::kStreams && requires { server.Admit(Service()); }) {
      if (absl::Status admitted = server.Admit(Service()); !admitted.ok()) {
        return call.reply(std::move(admitted));
      }
    }
    return server.Handle(std::move(call));
  }
};

/// Makes the Api of `server`, a class with a handler for each method of the service,
///   typename Call<Method>::Taken Handle(Call<Method> call);
/// and, where it does not serve at all times, `absl::Status Admit(Service)`: not OK is the answer
/// to whatever is asked then. A handler may reply at once; its call must be made on the server's
/// loop. Ownership: `server` outlives it.
template <typename Service, typename Server>
Api<Service> ApiOf(Server& server) {
  return Api<Service>(
      std::make_shared<Handlers<Service, Server>>(Handlers<Service, Server>{server}));
}

}  // namespace weir::rpc
