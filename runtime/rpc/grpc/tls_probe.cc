#include "runtime/rpc/grpc/tls_probe.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/fd.h"
#include "runtime/rpc/grpc/call_settings.h"
#include "runtime/rpc/grpc/certificate_text.h"

namespace weir::rpc {
namespace {

using Context = std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX, SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, OpenSslFree<SSL, SSL_free>>;

// What gRPC asks for, so that the server goes on to its first frame.
constexpr unsigned char kHttp2[] = {2, 'h', '2'};

struct Peer {
  std::string host;
  std::string port;
};

Peer SplitPeer(const std::string& peer) {
  const std::size_t colon = peer.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = peer.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {std::move(host), peer.substr(colon + 1)};
}

// False when `deadline` came first.
bool WaitFor(int fd, short events, gpr_timespec deadline) {
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
  pollfd wanted{fd, events, 0};
  return ::poll(&wanted, 1, std::max(0, gpr_time_to_millis(left))) == 1;
}

Fd ConnectTo(const Peer& peer, gpr_timespec deadline) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(peer.host.c_str(), peer.port.c_str(), &hints, &found) != 0) return Fd();
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> candidates(found, &freeaddrinfo);
  for (const addrinfo* candidate = found; candidate; candidate = candidate->ai_next) {
    Fd fd(::socket(candidate->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) continue;
    if (::connect(fd.get(), candidate->ai_addr, candidate->ai_addrlen) != 0) {
      if (errno != EINPROGRESS || !WaitFor(fd.get(), POLLOUT, deadline)) continue;
      int error = 0;
      socklen_t bytes = sizeof error;
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
      if (error != 0) continue;
    }
    return fd;
  }
  return Fd();
}

Context MakeContext(const TlsIdentity& identity) {
  Context context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set1_cert_store(context.get(), StoreOf(CertificatesOf(identity.authority_pem)).get());
  // The result is looked at afterwards, when the certificate that it is about can be shown.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  const std::vector<Certificate> chain = CertificatesOf(identity.certificate_pem);
  if (!chain.empty()) SSL_CTX_use_certificate(context.get(), chain.front().get());
  for (std::size_t i = 1; i < chain.size(); ++i) {
    SSL_CTX_add1_chain_cert(context.get(), chain[i].get());
  }
  SSL_CTX_use_PrivateKey(context.get(), KeyOf(identity.key_pem).get());
  SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof kHttp2);
  ERR_clear_error();
  return context;
}

Connection MakeConnection(SSL_CTX* context, int fd, const std::string& host) {
  Connection connection(SSL_new(context));
  SSL_set_fd(connection.get(), fd);
  X509_VERIFY_PARAM* expected = SSL_get0_param(connection.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
    // SSL_set_tlsext_host_name, whose macro has an old-style cast.
    SSL_ctrl(connection.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
  }
  ERR_clear_error();
  return connection;
}

enum class Step { kDone, kFailed, kTimeUp };

// Repeats a call of OpenSSL until it is through; `result` is its last answer.
template <typename Call>
Step Drive(SSL* connection, int fd, gpr_timespec deadline, const Call& call, int& error) {
  while (true) {
    ERR_clear_error();
    const int result = call();
    if (result > 0) return Step::kDone;
    error = SSL_get_error(connection, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return Step::kFailed;
    const short events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (!WaitFor(fd, events, deadline)) return Step::kTimeUp;
  }
}

absl::Status Refused(const std::string& peer, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("TLS with ", peer, " fails: ", why));
}

// What the peer thinks of our certificate; it has said so by an alert, or hung up.
absl::Status OursRefused(const std::string& peer, const TlsIdentity& identity) {
  const unsigned long code = ERR_peek_error();
  const char* said = code == 0 ? nullptr : ERR_reason_error_string(code);
  const std::vector<Certificate> chain = CertificatesOf(identity.certificate_pem);
  const std::string ours = chain.empty() ? ""
                                         : absl::StrCat(" (subject ", SubjectOf(*chain.front()),
                                                        ", issuer ", IssuerOf(*chain.front()), ")");
  return Refused(
      peer, absl::StrCat("it refuses the certificate of --tls-cert", ours,
                         said == nullptr ? "" : absl::StrCat(", saying \"", said, "\""),
                         "; most often the authority that the peer was started with (its --tls-ca) "
                         "did not sign it"));
}

absl::Status TheirsRefused(const std::string& peer, SSL* connection) {
  const Certificate shown(SSL_get1_peer_certificate(connection));
  const long result = SSL_get_verify_result(connection);
  const std::string what = shown == nullptr
                               ? std::string("its certificate")
                               : absl::StrCat("its certificate (subject ", SubjectOf(*shown),
                                              ", issuer ", IssuerOf(*shown), ")");
  return Refused(peer,
                 absl::StrCat(what, " ", VerifyErrorText(static_cast<int>(result), shown.get()),
                              "; trusted is what --tls-ca holds"));
}

}  // namespace

absl::Status TryTlsHandshake(const std::string& peer, const Security& security,
                             absl::Duration timeout) {
  if (!security.tls || absl::StartsWith(peer, "unix:")) return absl::OkStatus();
  const gpr_timespec deadline = DeadlineAfter(timeout);
  const Peer address = SplitPeer(peer);
  const Fd fd = ConnectTo(address, deadline);
  if (!fd.valid()) return absl::OkStatus();
  const Context context = MakeContext(*security.tls);
  const Connection connection = MakeConnection(context.get(), fd.get(), address.host);
  SSL* ssl = connection.get();
  int error = 0;
  Step step = Drive(
      ssl, fd.get(), deadline, [ssl] { return SSL_connect(ssl); }, error);
  if (step == Step::kTimeUp) return absl::OkStatus();
  if (step == Step::kFailed) {
    const unsigned long code = ERR_peek_error();
    const bool of_tls = code != 0 && ERR_GET_LIB(code) == ERR_LIB_SSL;
    // Alerts have reasons above a thousand.
    if (of_tls && ERR_GET_REASON(code) > SSL_AD_REASON_OFFSET) {
      return OursRefused(peer, *security.tls);
    }
    return Refused(peer,
                   "it does not answer with TLS; was it started without --tls-cert, --tls-key and "
                   "--tls-ca?");
  }
  if (SSL_get_verify_result(ssl) != X509_V_OK) return TheirsRefused(peer, ssl);
  char first = 0;
  step = Drive(
      ssl, fd.get(), deadline, [ssl, &first] { return SSL_read(ssl, &first, 1); }, error);
  return step == Step::kFailed ? OursRefused(peer, *security.tls) : absl::OkStatus();
}

}  // namespace weir::rpc
