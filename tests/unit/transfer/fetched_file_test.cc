// The fetcher against a disk that tells only when a file is closed that it did not keep it.

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "runtime/base/errno_status.h"
#include "tests/unit/format/failing_close.h"
#include "tests/unit/transfer/data_plane_test_base.h"

namespace weir::transfer {
namespace {

using testing::HasSubstr;

class FetchedFileTest : public DataPlaneTest {};

TEST_F(FetchedFileTest, OneThatCannotBeClosedHasNotArrived) {
  StartServer();
  StartFetcher();
  const std::string content = Publish("1.1", 3 * kMiB);
  {
    const format::FailingClose full(folder_.File("received"), EDQUOT);
    const absl::Status status = FetchNow(Order("1.1", 3 * kMiB));
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_TRUE(IsDiskFull(status)) << "it is this disk that is full";
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder_.File("received")));
    EXPECT_EQ(BytesBefore(status), 0) << "nobody knows what is there";
    EXPECT_EQ(full.count(), 1);
  }
  ASSERT_TRUE(FetchNow(Order("1.1", 3 * kMiB)).ok());
  EXPECT_TRUE(format::ReadAll(folder_.File("received")) == content);
}

TEST_F(FetchedFileTest, WhatBrokeOffFirstIsToldAndNothingOfItCounts) {
  StartFetcher();
  RawListener sender;
  FetchOrder order = Order("1.1", 100);
  order.peer_endpoint = sender.endpoint();
  const format::FailingClose full(order.destination_path, ENOSPC);
  const auto outcome = Begin(order);
  RawPeer peer = sender.Accept();
  const std::string body = "abc";
  ASSERT_TRUE(peer.Send(AnswerHead(body) + body));
  EXPECT_EQ(Finish(outcome).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(BytesBefore(outcome->result->status()), 0);
  EXPECT_EQ(full.count(), 1);
}

}  // namespace
}  // namespace weir::transfer
