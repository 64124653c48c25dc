#pragma once

// Throw-away certificates for tests of TLS.

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// Signs certificates with a key of its own, made anew for each instance.
class CertificateAuthority {
 public:
  CertificateAuthority();
  /// Returns certificate and key for a host (IP address or name), valid for one hour.
  TlsIdentity Issue(const std::string& host) const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  std::string certificate_pem_;
};

}  // namespace weir::rpc
