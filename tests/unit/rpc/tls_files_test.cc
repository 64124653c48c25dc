#include "runtime/rpc/grpc/tls_files.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/errno_status.h"
#include "runtime/env/real/posix_storage.h"
#include "tests/unit/rpc/certificates.h"

namespace weir::rpc {
namespace {

using testing::AllOf;
using testing::HasSubstr;

absl::Status Check(const TlsIdentity& identity, absl::Time now = absl::Now(),
                   TlsUse use = TlsUse::kServes) {
  return CheckTlsFiles(identity, {.certificate = "m.pem", .key = "m.key", .authority = "ca.pem"},
                       now, use);
}

TEST(TlsFiles, ThoseOfOneAuthorityFitTogether) {
  const CertificateAuthority authority;
  EXPECT_TRUE(Check(authority.Issue("m")).ok());
  // One more certificate does no harm: renewed authorities are kept beside the old ones.
  TlsIdentity two = authority.Issue("m");
  two.authority_pem += CertificateAuthority().Issue("m").authority_pem;
  EXPECT_TRUE(Check(two).ok());
}

TEST(TlsFiles, NamesTheFileThatHoldsNoPem) {
  const TlsIdentity good = CertificateAuthority().Issue("m");
  TlsIdentity bad = good;
  bad.certificate_pem = "not a certificate";
  EXPECT_EQ(Check(bad).message(), "TLS: m.pem holds no certificate in PEM form");
  bad = good;
  bad.key_pem = good.certificate_pem;
  EXPECT_EQ(Check(bad).message(),
            "TLS: m.key holds no private key without a passphrase in PEM form");
  bad = good;
  bad.authority_pem.clear();
  EXPECT_EQ(Check(bad).message(), "TLS: ca.pem holds no certificate in PEM form");
  EXPECT_TRUE(absl::IsInvalidArgument(Check(bad)));
}

TEST(TlsFiles, AreReadAndNamedByWhatTheyWereGivenBy) {
  char name[] = "/tmp/weir-tls-files-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  const TlsIdentity good = CertificateAuthority().Issue("m");
  env::PosixStorage storage;
  const auto put = [&](const std::string& file, const std::string& text) {
    EXPECT_TRUE(storage.WriteFileAtomically(folder + "/" + file, text).ok());
    return folder + "/" + file;
  };
  const TlsFileNames paths = {.certificate = put("m.pem", good.certificate_pem),
                              .key = put("m.key", good.key_pem),
                              .authority = put("ca.pem", good.authority_pem)};
  const auto read = [&](const TlsFileNames& from) {
    return ReadTlsFiles(storage, from,
                        {.certificate = "--cert", .key = "--key", .authority = "--ca"}, absl::Now(),
                        TlsUse::kCalls);
  };
  const absl::StatusOr<TlsIdentity> whole = read(paths);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->certificate_pem, good.certificate_pem);
  EXPECT_EQ(whole->key_pem, good.key_pem);
  EXPECT_EQ(whole->authority_pem, good.authority_pem);
  TlsFileNames gone = paths;
  gone.key = folder + "/gone";
  const absl::Status missing = read(gone).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_EQ(ErrnoOf(missing), ENOENT);
  EXPECT_THAT(std::string(missing.message()),
              AllOf(testing::StartsWith("--key: "), HasSubstr(gone.key)));
  TlsFileNames mixed = paths;
  mixed.authority = paths.key;
  EXPECT_EQ(read(mixed).status().message(),
            "TLS: --ca " + paths.key + " holds no certificate in PEM form");
  std::filesystem::remove_all(folder);
}

TEST(TlsFiles, NamesAKeyOfAnotherCertificate) {
  const CertificateAuthority authority;
  TlsIdentity mixed = authority.Issue("m");
  mixed.key_pem = authority.Issue("other").key_pem;
  const absl::Status refused = Check(mixed);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("m.key"), HasSubstr("m.pem"), HasSubstr("CN=m"),
                    HasSubstr("is not that of the certificate")));
}

TEST(TlsFiles, NamesACertificateOutsideItsTime) {
  const CertificateAuthority authority;
  const absl::Status expired = Check(authority.Issue("m", {.begins_s = -7200, .ends_s = -3600}));
  EXPECT_TRUE(absl::IsFailedPrecondition(expired)) << expired;
  EXPECT_THAT(std::string(expired.message()),
              AllOf(HasSubstr("m.pem"), HasSubstr("CN=m"), HasSubstr("has expired"),
                    HasSubstr("valid until 2")));
  const absl::Status early = Check(authority.Issue("m", {.begins_s = 3600, .ends_s = 7200}));
  EXPECT_THAT(std::string(early.message()), HasSubstr("is not valid yet: it is valid from 2"));
  const TlsIdentity later = authority.Issue("m");
  EXPECT_FALSE(Check(later, absl::Now() + absl::Hours(2)).ok()) << "time is what it is told";
}

TEST(TlsFiles, NamesACertificateThatIsNotForThisUse) {
  const CertificateAuthority authority;
  // What most authorities issue: others would refuse it in each call that this process makes.
  const TlsIdentity server = authority.Issue("m", {}, "serverAuth");
  for (const TlsUse use : {TlsUse::kCalls, TlsUse::kServes}) {
    const absl::Status refused = Check(server, absl::Now(), use);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("the certificate in m.pem"), HasSubstr("CN=m"),
                      HasSubstr("is not made out for clientAuth")));
  }
  const TlsIdentity client = authority.Issue("m", {}, "clientAuth");
  EXPECT_TRUE(Check(client, absl::Now(), TlsUse::kCalls).ok());
  EXPECT_THAT(std::string(Check(client, absl::Now(), TlsUse::kServes).message()),
              HasSubstr("is not made out for serverAuth"));
  EXPECT_TRUE(Check(authority.Issue("m", {}, "serverAuth,clientAuth")).ok());
}

TEST(TlsFiles, AreGoodUntilTheFirstNeededCertificateEnds) {
  const absl::Time now = absl::Now();
  const auto hours_good = [now](const TlsIdentity& identity) {
    return absl::ToDoubleHours(TlsFilesGoodUntil(identity, now, TlsUse::kServes) - now);
  };
  const CertificateAuthority authority({.ends_s = 4 * 3600});
  const TlsIdentity leaf_ends = authority.Issue("m", {.ends_s = 2 * 3600});
  EXPECT_NEAR(hours_good(leaf_ends), 2, 0.1);
  EXPECT_NEAR(hours_good(authority.Issue("m", {.ends_s = 9 * 3600})), 4, 0.1);
  // Another authority beside it ends first, and nobody needs it.
  TlsIdentity beside = leaf_ends;
  beside.authority_pem += CertificateAuthority({.ends_s = 3600}).Issue("x").authority_pem;
  EXPECT_NEAR(hours_good(beside), 2, 0.1);
}

TEST(TlsFiles, NamesAnAuthorityOutsideItsTime) {
  const CertificateAuthority old({.begins_s = -7200, .ends_s = -3600});
  const absl::Status expired = Check(old.Issue("m"));
  EXPECT_THAT(std::string(expired.message()),
              AllOf(HasSubstr("the certificate in ca.pem"), HasSubstr("has expired")));
}

TEST(TlsFiles, NamesACertificateThatAnotherAuthoritySigned) {
  TlsIdentity foreign = CertificateAuthority().Issue("m");
  foreign.authority_pem = CertificateAuthority().Issue("m").authority_pem;
  const absl::Status refused = Check(foreign);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("m.pem"), HasSubstr("is not signed by the authority"), HasSubstr("ca.pem")));
}

}  // namespace
}  // namespace weir::rpc
