#include "runtime/env/real/service_notice.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"

namespace weir::env {
namespace {

class ServiceNoticeTest : public ::testing::Test {
 protected:
  ServiceNoticeTest() {
    char name[] = "/tmp/weir-notice-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~ServiceNoticeTest() override { std::filesystem::remove_all(directory_); }

  // As systemd listens; "@name" is a name that is no file.
  static Fd Manager(const std::string& socket) {
    Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket.data(), socket.size());
    if (socket[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length), 0) << socket;
    return fd;
  }

  static std::string Heard(const Fd& manager) {
    char text[256];
    const ssize_t got = ::recv(manager.get(), text, sizeof(text), MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(got));
  }

  std::string directory_;
};

TEST_F(ServiceNoticeTest, ArrivesWholeAtAPathAndAtAName) {
  for (const std::string& socket :
       {directory_ + "/notify", absl::StrCat("@weir-notice-test-", ::getpid())}) {
    const Fd manager = Manager(socket);
    const absl::Status told = TellServiceManager(socket, "READY=1\nSTATUS=Serves");
    EXPECT_TRUE(told.ok()) << told;
    EXPECT_EQ(Heard(manager), "READY=1\nSTATUS=Serves");
    EXPECT_EQ(Heard(manager), "nothing") << "one notice is one message";
  }
}

TEST_F(ServiceNoticeTest, NobodyWhoAskedIsNoError) {
  EXPECT_TRUE(TellServiceManager("", "READY=1").ok());
}

TEST_F(ServiceNoticeTest, WhatIsNoAddressIsSaid) {
  for (const std::string& socket : {std::string("notify"), std::string("@"), std::string("/"),
                                    absl::StrCat("/", std::string(200, 'x'))}) {
    EXPECT_TRUE(absl::IsInvalidArgument(TellServiceManager(socket, "READY=1"))) << socket;
  }
  EXPECT_TRUE(absl::IsNotFound(TellServiceManager(directory_ + "/nobody", "READY=1")));
}

TEST_F(ServiceNoticeTest, AManagerThatDoesNotReadHoldsNobodyUp) {
  const std::string socket = directory_ + "/notify";
  const Fd manager = Manager(socket);
  absl::Status told;
  for (int i = 0; told.ok() && i < 1'000'000; ++i) told = TellServiceManager(socket, "READY=1");
  EXPECT_EQ(ErrnoOf(told), EAGAIN) << told;
}

}  // namespace
}  // namespace weir::env
