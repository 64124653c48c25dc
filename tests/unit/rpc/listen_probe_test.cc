#include "runtime/rpc/grpc/listen_probe.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/fd.h"

namespace weir::rpc {
namespace {

using testing::HasSubstr;

std::string ReasonAt(const std::string& address) {
  const absl::Status refused = CheckCanListen(address);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("cannot listen on " + address + ": "));
  return std::string(refused.message());
}

TEST(ListenProbe, AFreeAddressWillDo) {
  EXPECT_TRUE(CheckCanListen("127.0.0.1:0").ok());
  EXPECT_TRUE(CheckCanListen("localhost:0").ok());
}

TEST(ListenProbe, SaysWhyAnAddressWillNotDo) {
  const Fd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  ASSERT_EQ(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  EXPECT_THAT(ReasonAt(absl::StrCat("127.0.0.1:", ntohs(address.sin_port))),
              HasSubstr("the address is taken"));
  // For documents only (RFC 5737): of no host.
  EXPECT_THAT(ReasonAt("192.0.2.1:0"), HasSubstr("does not belong to this host"));
  // A label has 63 letters at most: no name server is asked.
  EXPECT_THAT(ReasonAt(std::string(70, 'a') + ":0"), HasSubstr("its name is not known here ("));
}

}  // namespace
}  // namespace weir::rpc
