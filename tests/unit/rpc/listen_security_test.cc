#include "runtime/rpc/grpc/listen_security.h"

#include <gtest/gtest.h>

#include "absl/strings/string_view.h"
#include "runtime/rpc/grpc/access_token.h"

namespace weir::rpc {
namespace {

TEST(ListenSecurity, LoopbackNeedsTheTokenOfItsUser) {
  const Security ours = {.tls = std::nullopt, .insecure = false, .token = "secret"};
  for (const char* address : {"127.0.0.1:7117", "127.9.8.7:0", "localhost:1", "[::1]:7117"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
    EXPECT_TRUE(CheckListenAddress(address, ours).ok()) << address;
    EXPECT_TRUE(absl::IsFailedPrecondition(CheckListenAddress(address, {}))) << address;
    EXPECT_EQ(TokenFor(ours, address), "secret");
  }
}

TEST(ListenSecurity, OtherAddressesNeedTlsOrAnExplicitWord) {
  for (const char* address : {"0.0.0.0:7117", "[::]:7117", "10.0.0.1:1", "example.org:1",
                              "127.evil.example:1", "localhost.evil.example:1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
    const Security ours = {.tls = std::nullopt, .insecure = false, .token = "secret"};
    EXPECT_EQ(TokenFor(ours, address), "") << "it never leaves the machine";
    const absl::Status refused = CheckListenAddress(address, ours);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << address;
    EXPECT_NE(refused.message().find("--tls-cert"), absl::string_view::npos);
    EXPECT_TRUE(CheckListenAddress(address, {.tls = TlsIdentity(), .insecure = false}).ok());
    EXPECT_TRUE(CheckListenAddress(address, {.tls = std::nullopt, .insecure = true}).ok());
  }
}

TEST(ListenSecurity, WhatIsNoAddressIsSaidToBeNone) {
  for (const char* address : {"", ":", "7117", "host", "host:", ":80", "host:x", "host:65536",
                              "host:-1", "::1:80", "[::1:80", "[]:80"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckListenAddress(address, {}))) << address;
  }
}

}  // namespace
}  // namespace weir::rpc
