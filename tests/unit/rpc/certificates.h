#pragma once

// Throw-away certificates for tests of TLS.

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// When a certificate is valid, in seconds from now.
struct Lifetime {
  long begins_s = -60;
  long ends_s = 3600;
};

/// Signs certificates with a key of its own, made anew for each instance.
class CertificateAuthority {
 public:
  explicit CertificateAuthority(Lifetime lifetime = {});
  /// Returns certificate and key for a host (IP address or name). `extended_key_usage`: as in
  /// "serverAuth,clientAuth"; empty: none is said, which allows all. `more_names`: further subject
  /// alternative names, as in "URI:weir:client".
  TlsIdentity Issue(const std::string& host, Lifetime lifetime = {},
                    const std::string& extended_key_usage = "",
                    const std::string& more_names = "") const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  std::string certificate_pem_;
};

}  // namespace weir::rpc
