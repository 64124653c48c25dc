#include "runtime/transfer/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "runtime/base/limits.h"
#include "runtime/format/xxh3_stream.h"
#include "runtime/transfer/one_port.h"

namespace weir::transfer {
namespace {

std::string_view Body(const std::string& frame) {
  return std::string_view(frame).substr(kFrameHeaderBytes);
}

// OK when the frame is whole and intact.
absl::Status Check(const std::string& frame) {
  if (frame.size() < kFrameHeaderBytes) return absl::DataLossError("short");
  const auto header = DecodeFrameHeader(std::string_view(frame).substr(0, kFrameHeaderBytes));
  if (!header.ok()) return header.status();
  if (Body(frame).size() != header->body_bytes) return absl::DataLossError("short");
  return CheckBody(*header, Body(frame));
}

RC_GTEST_PROP(FrameProperty, RequestsComeBackAsSent, (const std::string& run_id)) {
  RC_PRE(run_id.size() < 1000);
  v1::DataRequest request;
  request.set_job_id("j-1");
  request.set_job_token(*rc::gen::arbitrary<std::uint64_t>());
  request.set_run_id(std::string(run_id.size(), 'r'));
  request.set_offset(*rc::gen::inRange<std::int64_t>(0, INT64_MAX));
  request.set_bytes(*rc::gen::inRange<std::int64_t>(1, INT64_MAX));
  request.set_credit_bytes(*rc::gen::inRange<std::int64_t>(1, INT64_MAX));
  request.set_transfer(*rc::gen::inRange<std::int32_t>(0, INT32_MAX));
  request.set_attempt(*rc::gen::inRange<std::int32_t>(0, INT32_MAX));
  const std::string frame = EncodeRequest(request);
  RC_ASSERT(Check(frame).ok());
  const auto decoded = DecodeRequest(Body(frame));
  RC_ASSERT(decoded.ok());
  RC_ASSERT(decoded->SerializeAsString() == request.SerializeAsString());
}

RC_GTEST_PROP(FrameProperty, CreditComesBackAsSent, ()) {
  const auto bytes = *rc::gen::inRange<std::int64_t>(1, INT64_MAX);
  const std::string frame = EncodeCredit(bytes);
  RC_ASSERT(Check(frame).ok());
  RC_ASSERT(*DecodeCredit(Body(frame)) == bytes);
}

RC_GTEST_PROP(FrameProperty, EveryFlippedBitIsFound, ()) {
  const std::string frame = EncodeStatus(
      absl::AbortedError(*rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))));
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string flipped = frame;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    RC_ASSERT(!Check(flipped).ok());
  }
}

RC_GTEST_PROP(FrameProperty, EveryTruncationIsFound, ()) {
  const std::string frame = EncodeStatus(absl::AbortedError("stale"));
  const auto bytes = *rc::gen::inRange<std::size_t>(0, frame.size());
  RC_ASSERT(!Check(frame.substr(0, bytes)).ok());
}

TEST(FrameTest, AStatusKeepsCodeAndMessageAndFitsWhateverItsLength) {
  const std::string frame =
      EncodeStatus(absl::NotFoundError("run 1.1 " + std::string(100'000, 'x')));
  EXPECT_LE(static_cast<std::int64_t>(Body(frame).size()), limits::kDataRequestBytesMax);
  absl::Status status;
  ASSERT_TRUE(DecodeStatus(Body(frame), status).ok());
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message().substr(0, 8), "run 1.1 ");
}

TEST(FrameTest, AStatusThatNamesAFileOfAnyNameArrives) {
  absl::Status status;
  ASSERT_TRUE(DecodeStatus(Body(EncodeStatus(absl::NotFoundError("/in/Z\xfcrich"))), status).ok());
  EXPECT_EQ(status.message(), "/in/Z?rich");
}

TEST(FrameTest, LengthsAreBoundedByKind) {
  char header[kFrameHeaderBytes];
  const auto legal = [&header](FrameKind kind, std::uint32_t bytes) {
    EncodeFrameHeader({kind, bytes, 0}, header);
    return DecodeFrameHeader({header, sizeof header}).ok();
  };
  EXPECT_TRUE(legal(FrameKind::kData, 1 << 20));
  EXPECT_FALSE(legal(FrameKind::kData, (1 << 20) + 1));
  EXPECT_FALSE(legal(FrameKind::kData, 0));
  EXPECT_TRUE(legal(FrameKind::kRequest, 4096));
  EXPECT_FALSE(legal(FrameKind::kRequest, 4097));
  EXPECT_FALSE(legal(FrameKind::kCredit, 7));
  EXPECT_FALSE(legal(static_cast<FrameKind>(5), 8));
}

TEST(OnePortTest, AdmitsOneExclusiveTransferAndTheNextInItsTail) {
  using enum OnePort::Admission;
  OnePort port;
  EXPECT_EQ(port.Ask("j-1", false), kFree);
  const OnePort::Id first = port.Begin("j-1", 100, 30, false);
  EXPECT_EQ(port.Ask("j-1", false), kBusy);
  EXPECT_EQ(port.Ask("j-1", true), kBusy);
  EXPECT_EQ(port.Move(first, 70), 30);
  EXPECT_EQ(port.Ask("j-1", false), kNearlyDone);
  const OnePort::Id second = port.Begin("j-1", 100, 0, false);
  EXPECT_EQ(port.Ask("j-1", false), kBusy);
  port.End(first);
  port.End(second);
  EXPECT_EQ(port.Ask("j-1", false), kFree);
}

TEST(OnePortTest, ConcurrentTransfersShareThePort) {
  using enum OnePort::Admission;
  OnePort port;
  port.Begin("j-1", 100, 0, true);
  EXPECT_EQ(port.Ask("j-1", true), kFree);
  EXPECT_EQ(port.Ask("j-1", false), kBusy);
}

}  // namespace
}  // namespace weir::transfer
