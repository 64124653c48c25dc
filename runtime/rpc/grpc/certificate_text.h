#pragma once

// PEM text as OpenSSL's objects, and certificates in words. Upstream: tls_files, tls_probe.

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace weir::rpc {

template <typename Object, void (*Free)(Object*)>
struct OpenSslFree {
  void operator()(Object* object) const { Free(object); }
};
using Certificate = std::unique_ptr<X509, OpenSslFree<X509, X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, OpenSslFree<EVP_PKEY, EVP_PKEY_free>>;
using CertificateStore = std::unique_ptr<X509_STORE, OpenSslFree<X509_STORE, X509_STORE_free>>;

/// All certificates of a PEM text, in its order; empty when it holds none.
std::vector<Certificate> CertificatesOf(const std::string& pem);

/// Null when it holds none, or one with a passphrase.
PrivateKey KeyOf(const std::string& pem);

/// A store that trusts these as gRPC does: an intermediate one is enough.
CertificateStore StoreOf(const std::vector<Certificate>& authorities);

/// "CN=worker-3", by RFC 2253.
std::string SubjectOf(const X509& certificate);
std::string IssuerOf(const X509& certificate);

/// The last moment at which it is valid; InfiniteFuture where that cannot be read.
absl::Time EndOf(const X509& certificate);

/// What is wrong with a certificate that did not verify, for an X509_V_ERR_... code: "has expired:
/// it was valid until 2026-01-31 12:00:00 UTC". `certificate` may be null.
std::string VerifyErrorText(int error, const X509* certificate);

}  // namespace weir::rpc
