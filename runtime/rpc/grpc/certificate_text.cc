#include "runtime/rpc/grpc/certificate_text.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include <cstdint>
#include <ctime>

#include "absl/strings/str_cat.h"

namespace weir::rpc {
namespace {

using Bio = std::unique_ptr<BIO, OpenSslFree<BIO, BIO_free_all>>;

Bio Reading(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is asked for a passphrase.
int NoPassphrase(char*, int, int, void*) { return 0; }

template <typename Print>
std::string Printed(const Print& print) {
  const Bio memory(BIO_new(BIO_s_mem()));
  print(memory.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

std::string NameText(const X509_NAME* name) {
  return Printed([name](BIO* out) { X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253); });
}

std::string TimeText(const ASN1_TIME* time) {
  return Printed([time](BIO* out) { ASN1_TIME_print_ex(out, time, ASN1_DTFLGS_ISO8601); });
}

}  // namespace

std::vector<Certificate> CertificatesOf(const std::string& pem) {
  std::vector<Certificate> found;
  const Bio text = Reading(pem);
  while (X509* certificate = PEM_read_bio_X509(text.get(), nullptr, NoPassphrase, nullptr)) {
    found.emplace_back(certificate);
  }
  ERR_clear_error();  // the end of the text is one
  return found;
}

PrivateKey KeyOf(const std::string& pem) {
  const Bio text = Reading(pem);
  PrivateKey key(PEM_read_bio_PrivateKey(text.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

CertificateStore StoreOf(const std::vector<Certificate>& authorities) {
  CertificateStore store(X509_STORE_new());
  for (const Certificate& authority : authorities) {
    X509_STORE_add_cert(store.get(), authority.get());
  }
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  return store;
}

std::string SubjectOf(const X509& certificate) {
  return NameText(X509_get_subject_name(&certificate));
}

std::string IssuerOf(const X509& certificate) {
  return NameText(X509_get_issuer_name(&certificate));
}

absl::Time EndOf(const X509& certificate) {
  std::tm end = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &end) != 1) return absl::InfiniteFuture();
  return absl::FromTM(end, absl::UTCTimeZone());
}

std::string VerifyErrorText(int error, const X509* certificate) {
  const std::string until =
      certificate == nullptr
          ? ""
          : absl::StrCat(": it was valid until ", TimeText(X509_get0_notAfter(certificate)));
  const std::string from =
      certificate == nullptr
          ? ""
          : absl::StrCat(": it is valid from ", TimeText(X509_get0_notBefore(certificate)));
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat("has expired", until);
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat("is not valid yet", from);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "is not signed by the authority";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "is not made out for this host";
    case X509_V_ERR_INVALID_PURPOSE:
      return "is not made out for this use (key usage, extended key usage)";
    default:
      return absl::StrCat("is refused: ", X509_verify_cert_error_string(error));
  }
}

}  // namespace weir::rpc
