#include "runtime/rpc/grpc/tls_files.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/rpc/grpc/certificate_text.h"

namespace weir::rpc {
namespace {

using StoreContext =
    std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX, X509_STORE_CTX_free>>;
// Frees the stack only: the certificates are the vector's.
using Stack = std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)>;

absl::Status NoPem(const std::string& file, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("TLS: ", file, " holds no ", what, " in PEM form"));
}

// Keeps code and payloads.
absl::Status SaidOf(const std::string& given_by, const absl::Status& why) {
  absl::Status status(why.code(), absl::StrCat(given_by, ": ", why.message()));
  why.ForEachPayload([&status](absl::string_view url, const absl::Cord& payload) {
    status.SetPayload(url, payload);
  });
  return status;
}

// How OpenSSL calls what the other side asks of a certificate, and how certificates do.
struct Purpose {
  const char* name;
  const char* usage;
};
constexpr Purpose kClient = {"ssl_client", "clientAuth"};
constexpr Purpose kServer = {"ssl_server", "serverAuth"};

absl::Status CheckChain(const std::vector<Certificate>& chain,
                        const std::vector<Certificate>& authorities, const TlsFileNames& names,
                        absl::Time now, const Purpose& purpose) {
  const CertificateStore store = StoreOf(authorities);
  const StoreContext context(X509_STORE_CTX_new());
  const Stack between(sk_X509_new_null(), [](STACK_OF(X509) * stack) { sk_X509_free(stack); });
  for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(between.get(), chain[i].get());
  X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), between.get());
  X509_STORE_CTX_set_default(context.get(), purpose.name);
  X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context.get()), absl::ToTimeT(now));
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  ERR_clear_error();
  const int error = X509_STORE_CTX_get_error(context.get());
  const X509* at = X509_STORE_CTX_get_current_cert(context.get());
  if (at == nullptr) at = chain.front().get();
  const bool of_authority = X509_STORE_CTX_get_error_depth(context.get()) > 0;
  const std::string why =
      error == X509_V_ERR_INVALID_PURPOSE
          ? absl::StrCat("is not made out for ", purpose.usage,
                         " (its key usage or extended key usage)",
                         &purpose == &kClient ? ""
                                              : ", which master and workers need beside "
                                                "clientAuth, because they call each other")
          : VerifyErrorText(error, at);
  const std::string issuer =
      absl::StrCat(" (subject ", SubjectOf(*at), ", issuer ", IssuerOf(*at), ")");
  return absl::FailedPreconditionError(absl::StrCat(
      "TLS: the certificate in ", of_authority ? names.authority : names.certificate, issuer, " ",
      why, "; authority: ", names.authority, ". Nobody who trusts that authority would accept it"));
}

}  // namespace

absl::Status CheckTlsFiles(const TlsIdentity& identity, const TlsFileNames& names, absl::Time now,
                           TlsUse use) {
  const std::vector<Certificate> chain = CertificatesOf(identity.certificate_pem);
  if (chain.empty()) return NoPem(names.certificate, "certificate");
  const PrivateKey key = KeyOf(identity.key_pem);
  if (key == nullptr) return NoPem(names.key, "private key without a passphrase");
  const std::vector<Certificate> authorities = CertificatesOf(identity.authority_pem);
  if (authorities.empty()) return NoPem(names.authority, "certificate");
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat("TLS: the key in ", names.key, " is not that of the certificate in ",
                     names.certificate, " (subject ", SubjectOf(*chain.front()), ")"));
  }
  absl::Status usable = CheckChain(chain, authorities, names, now, kClient);
  if (usable.ok() && use == TlsUse::kServes) {
    usable = CheckChain(chain, authorities, names, now, kServer);
  }
  return usable;
}

absl::Time TlsFilesGoodUntil(const TlsIdentity& identity, absl::Time now, TlsUse use) {
  std::vector<absl::Time> ends;
  for (const std::string* pem : {&identity.certificate_pem, &identity.authority_pem}) {
    for (const Certificate& certificate : CertificatesOf(*pem)) {
      ends.push_back(EndOf(*certificate));
    }
  }
  std::sort(ends.begin(), ends.end());
  // Not each of them is needed: authorities that were renewed are kept beside the new ones.
  for (const absl::Time end : ends) {
    if (end > now && !CheckTlsFiles(identity, {}, end + absl::Seconds(1), use).ok()) return end;
  }
  return absl::InfiniteFuture();
}

absl::StatusOr<TlsIdentity> ReadTlsFiles(env::Storage& storage, const TlsFileNames& paths,
                                         const TlsFileNames& given_by, absl::Time now, TlsUse use) {
  constexpr std::int64_t kPemBytesMax = 1 << 20;
  struct Row {
    const std::string& path;
    const std::string& given_by;
    std::string& content;
  };
  TlsIdentity identity;
  for (const Row& file : {Row{paths.certificate, given_by.certificate, identity.certificate_pem},
                          Row{paths.key, given_by.key, identity.key_pem},
                          Row{paths.authority, given_by.authority, identity.authority_pem}}) {
    absl::StatusOr<std::string> text = storage.ReadFile(file.path, kPemBytesMax);
    if (!text.ok()) return SaidOf(file.given_by, text.status());
    file.content = *std::move(text);
  }
  const absl::Status usable =
      CheckTlsFiles(identity,
                    {.certificate = absl::StrCat(given_by.certificate, " ", paths.certificate),
                     .key = absl::StrCat(given_by.key, " ", paths.key),
                     .authority = absl::StrCat(given_by.authority, " ", paths.authority)},
                    now, use);
  if (!usable.ok()) return usable;
  return identity;
}

}  // namespace weir::rpc
