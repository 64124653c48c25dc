#include "runtime/transfer/data_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "asio/co_spawn.hpp"
#include "asio/io_context.hpp"
#include "asio/ip/address.hpp"
#include "asio/ip/tcp.hpp"
#include "gmock/gmock.h"
#include "runtime/base/errno_status.h"
#include "tests/unit/transfer/data_plane_test_base.h"

namespace weir::transfer {
namespace {

using asio::ip::tcp;
using testing::HasSubstr;

tcp::endpoint At(const char* address, const std::string& endpoint) {
  const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
  return {asio::ip::make_address(address), static_cast<std::uint16_t>(port)};
}

std::ptrdiff_t NumThreads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

class DataSocketTest : public testing::Test {
 protected:
  absl::Status Connect(const std::string& endpoint) {
    std::optional<absl::Status> connected;
    socket_->SetSilence(absl::Seconds(10));
    asio::co_spawn(context_, socket_->Connect(endpoint),
                   [&](std::exception_ptr, absl::Status status) {
                     connected = std::move(status);
                     context_.stop();
                   });
    context_.run_for(std::chrono::seconds(20));
    return connected.value_or(absl::UnknownError("the attempt never ended"));
  }
  // A name may stand for several addresses.
  absl::Status ConnectToOneOf(std::vector<tcp::endpoint> addresses) {
    std::optional<absl::Status> connected;
    socket_->SetSilence(absl::Seconds(2));
    asio::co_spawn(context_, socket_->ConnectToOneOf(std::move(addresses)),
                   [&](std::exception_ptr, absl::Status status) {
                     connected = std::move(status);
                     context_.stop();
                   });
    context_.run_for(std::chrono::seconds(20));
    return connected.value_or(absl::UnknownError("the attempt never ended"));
  }

  asio::io_context context_;
  std::shared_ptr<DataSocket> socket_ = std::make_shared<DataSocket>(context_.get_executor());
};

TEST_F(DataSocketTest, AnAddressWhereNobodyListensIsNotTheLast) {
  RawListener listener;
  const absl::Status connected =
      ConnectToOneOf({At("::1", listener.endpoint()), At("127.0.0.1", listener.endpoint())});
  ASSERT_TRUE(connected.ok()) << connected;
  const RawPeer peer = listener.Accept();
  EXPECT_TRUE(peer.connected());
  EXPECT_TRUE(socket_->ReadyForReuse());
}

TEST_F(DataSocketTest, AnAddressThatDoesNotAnswerHasItsShareOfTheTime) {
  RawListener silent(/*backlog=*/0), listener;
  const RawPeer first(silent.endpoint());
  ASSERT_TRUE(first.connected());
  const absl::Status connected =
      ConnectToOneOf({At("127.0.0.1", silent.endpoint()), At("127.0.0.1", listener.endpoint())});
  ASSERT_TRUE(connected.ok()) << connected;
  EXPECT_TRUE(listener.Accept().connected());
}

TEST_F(DataSocketTest, EachAddressThatRefusesIsNamed) {
  RawListener one, other;
  const std::vector<tcp::endpoint> addresses = {At("127.0.0.1", one.endpoint()),
                                                At("127.0.0.1", other.endpoint())};
  one.Close();
  other.Close();
  const absl::Status connected = ConnectToOneOf(addresses);
  EXPECT_TRUE(absl::IsUnavailable(connected)) << connected;
  EXPECT_THAT(std::string(connected.message()), HasSubstr(one.endpoint() + ": "));
  EXPECT_THAT(std::string(connected.message()), HasSubstr(other.endpoint() + ": "));
  EXPECT_TRUE(socket_->closed());
}

TEST_F(DataSocketTest, WantOfDescriptorsIsNotBlamedOnThePeer) {
  RawListener listener;
  const tcp::endpoint address = At("127.0.0.1", listener.endpoint());
  for (const int num_addresses : {1, 2}) {
    socket_ = std::make_shared<DataSocket>(context_.get_executor());
    context_.restart();
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const absl::Status connected = ConnectToOneOf(
        std::vector<tcp::endpoint>(static_cast<std::size_t>(num_addresses), address));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(absl::IsResourceExhausted(connected)) << num_addresses << ": " << connected;
    EXPECT_EQ(ErrnoOf(connected), EMFILE) << "so that this worker knows that it is its own";
    EXPECT_TRUE(socket_->closed());
  }
}

// The want of a thread in the middle of a coroutine would end the process.
TEST_F(DataSocketTest, NamesAreLookedUpInAThreadThatWasThereBefore) {
  RawListener listener;
  const std::ptrdiff_t before = NumThreads();
  StartLookups(context_.get_executor());
  EXPECT_EQ(NumThreads(), before + 1);
  const std::string port = listener.endpoint().substr(listener.endpoint().rfind(':'));
  const absl::Status connected = Connect("localhost" + port);
  ASSERT_TRUE(connected.ok()) << connected;
  EXPECT_EQ(NumThreads(), before + 1);
}

}  // namespace
}  // namespace weir::transfer
