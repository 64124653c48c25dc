#include "tests/unit/rpc/certificates.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace weir::rpc {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;

Key MakeKey() { return Key(EVP_EC_gen("P-256"), EVP_PKEY_free); }

template <typename Write>
std::string Pem(const Write& write) {
  const std::unique_ptr<BIO, int (*)(BIO*)> memory(BIO_new(BIO_s_mem()), BIO_free);
  write(memory.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  const std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str()), X509_EXTENSION_free);
  X509_add_ext(certificate, extension.get(), -1);
}

std::string MakeCertificate(EVP_PKEY* key, EVP_PKEY* signer, const std::string& name,
                            bool authority, Lifetime lifetime,
                            const std::string& extended_key_usage, const std::string& more_names) {
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  static long serial = 0;
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), lifetime.begins_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), lifetime.ends_s);
  X509_set_pubkey(certificate.get(), key);
  const auto set_name = [](X509_NAME* entry, const std::string& value) {
    X509_NAME_add_entry_by_txt(entry, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1, 0);
  };
  set_name(X509_get_subject_name(certificate.get()), name);
  set_name(X509_get_issuer_name(certificate.get()), "weir test authority");
  if (authority) {
    AddExtension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  } else {
    const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos;
    AddExtension(
        certificate.get(), NID_subject_alt_name,
        (is_address ? "IP:" : "DNS:") + name + (more_names.empty() ? "" : ",") + more_names);
  }
  if (!extended_key_usage.empty()) {
    AddExtension(certificate.get(), NID_ext_key_usage, extended_key_usage);
  }
  X509_sign(certificate.get(), signer, EVP_sha256());
  return Pem([&](BIO* out) { PEM_write_bio_X509(out, certificate.get()); });
}

}  // namespace

CertificateAuthority::CertificateAuthority(Lifetime lifetime)
    : key_(MakeKey()),
      certificate_pem_(
          MakeCertificate(key_.get(), key_.get(), "weir test authority", true, lifetime, "", "")) {}

TlsIdentity CertificateAuthority::Issue(const std::string& host, Lifetime lifetime,
                                        const std::string& extended_key_usage,
                                        const std::string& more_names) const {
  const Key key = MakeKey();
  return {.certificate_pem = MakeCertificate(key.get(), key_.get(), host, false, lifetime,
                                             extended_key_usage, more_names),
          .key_pem = Pem([&](BIO* out) {
            PEM_write_bio_PKCS8PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          }),
          .authority_pem = certificate_pem_};
}

}  // namespace weir::rpc
