#include <unistd.h>

#include <utility>

#include "runtime/app/interrupts.h"
#include "runtime/app/kept_session.h"
#include "runtime/app/machine.h"
#include "runtime/app/sessions.h"
#include "runtime/app/threads.h"
#include "runtime/rpc/grpc/grpc_clients.h"
#include "runtime/rpc/grpc/tls_probe.h"

namespace weir::app {
namespace {

// A master that takes longer is left to the call, which has a longer deadline.
constexpr absl::Duration kHandshakePatience = absl::Seconds(2);

class RemoteSession {
 public:
  RemoteSession(std::string master, rpc::Security security)
      : master_(std::move(master)),
        interrupts_(loop_),
        clients_(loop_, std::move(security)),
        jobs_(clients_.ConnectJobs(master_)) {}

  void Close() {}  // connections end with the process

  const rpc::JobApi& jobs() { return *jobs_; }
  env::EventLoop& loop() { return loop_; }
  void RunUntil(const std::function<bool()>& done) { loop_.RunUntil(done); }
  void OnInterrupt(std::function<void()> on_interrupt) {
    interrupts_.Listen(std::move(on_interrupt));
  }
  void EndWithStdin() { interrupts_.EndWith(STDIN_FILENO); }
  std::string master_name() const { return master_; }

 private:
  const std::string master_;
  env::AsioEventLoop loop_;
  Interrupts interrupts_;
  rpc::GrpcClients clients_;
  std::unique_ptr<rpc::JobApi> jobs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<client::Session>> ConnectToMaster(
    const client::MasterAddress& address) {
  auto security =
      LoadSecurity(address.tls, /*insecure=*/false, address.token_file, TokenUse::kCall);
  if (!security.ok()) return security.status();
  KeepTwoHeaps();
  TryThreads(ThreadsOfGrpc());
  // gRPC would say that a socket closed.
  absl::Status tls = rpc::TryTlsHandshake(address.address, *security, kHandshakePatience);
  if (!tls.ok()) return tls;
  return std::make_unique<KeptSession<RemoteSession>>(
      std::make_unique<RemoteSession>(address.address, *std::move(security)));
}

}  // namespace weir::app
