// Group::Join: through a master, by gRPC.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/limits.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/env/real/posix_storage.h"
#include "runtime/env/real/token_file.h"
#include "runtime/reduce/rendezvous.h"
#include "runtime/reduce/steady_time.h"
#include "runtime/rpc/grpc/grpc_clients.h"
#include "runtime/rpc/grpc/tls_files.h"

namespace weir::reduce {
namespace {

/// A master that is not there yet is asked again after this.
constexpr absl::Duration kAskAgain = absl::Milliseconds(200);

absl::StatusOr<rpc::Security> SecurityOf(const GroupOptions& options) {
  rpc::Security security;
  const bool all = !options.tls_certificate.empty() && !options.tls_key.empty() &&
                   !options.tls_authority.empty();
  const bool none =
      options.tls_certificate.empty() && options.tls_key.empty() && options.tls_authority.empty();
  if (!all && !none) {
    return absl::InvalidArgumentError(
        "tls_certificate, tls_key and tls_authority must be given together, or none of them");
  }
  if (none) {
    const char* const variable = std::getenv("WEIR_TOKEN_FILE");
    const std::string chosen =
        options.token_file.empty() && variable != nullptr ? variable : options.token_file;
    absl::StatusOr<std::string> token = env::FindToken(chosen);
    if (!token.ok()) return token.status();
    security.token = *std::move(token);
    return security;
  }
  env::PosixStorage storage;
  auto identity = rpc::ReadTlsFiles(
      storage,
      {.certificate = options.tls_certificate,
       .key = options.tls_key,
       .authority = options.tls_authority},
      {.certificate = "tls_certificate", .key = "tls_key", .authority = "tls_authority"},
      absl::Now(), rpc::TlsUse::kCalls);
  if (!identity.ok()) return identity.status();
  security.tls = *std::move(identity);
  return security;
}

class MasterRendezvous final : public Rendezvous {
 public:
  MasterRendezvous(std::string master, rpc::Security security)
      : clients_(loop_, std::move(security)), jobs_(clients_.ConnectJobs(master)) {}

  absl::StatusOr<v1::JoinGroupResponse> Join(const v1::JoinGroupRequest& request) override {
    return AskToJoin(*jobs_, loop_, request);
  }

 private:
  env::AsioEventLoop loop_;
  rpc::GrpcClients clients_;
  std::unique_ptr<rpc::JobApi> jobs_;
};

// Whether the same call may fare better.
bool MayAskAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsAborted(status);
}

}  // namespace

absl::StatusOr<v1::JoinGroupResponse> AskToJoin(const rpc::JobApi& jobs, env::AsioEventLoop& loop,
                                                v1::JoinGroupRequest request) {
  const double until_s = SteadySeconds() + 1e-3 * request.wait_ms();
  while (true) {
    // Shared: a copy of the call may be answered after the one that counted.
    auto answer = std::make_shared<std::optional<absl::StatusOr<v1::JoinGroupResponse>>>();
    // The master gives up first, and says who is missing.
    const absl::Duration patience = absl::Milliseconds(request.wait_ms()) + limits::kCallTimeout;
    loop.Post([&jobs, request, patience, answer] {
      jobs.Send<rpc::JoinGroup>(request, patience,
                                [answer](auto came) { *answer = std::move(came); });
    });
    loop.RunUntil([&] { return answer->has_value(); });
    if (!MayAskAgain((*answer)->status())) return *std::move(*answer);
    bool waited = false;
    loop.Post([&] { loop.RunAt(loop.Now() + kAskAgain, [&waited] { waited = true; }); });
    loop.RunUntil([&waited] { return waited; });
    const double left_ms = 1e3 * (until_s - SteadySeconds());
    if (left_ms <= 0) return *std::move(*answer);
    request.set_wait_ms(static_cast<std::int32_t>(std::ceil(left_ms)));
  }
}

absl::StatusOr<std::unique_ptr<Group>> Group::Join(const GroupOptions& options) {
  absl::StatusOr<rpc::Security> security = SecurityOf(options);
  if (!security.ok()) return security.status();
  MasterRendezvous rendezvous(options.master, *std::move(security));
  return JoinThrough(rendezvous, options);
}

}  // namespace weir::reduce
