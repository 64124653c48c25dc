#include "runtime/base/task_frame.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "weir/v1/job.pb.h"

namespace weir {
namespace {

v1::JobError Saying(std::string message) {
  v1::JobError error;
  error.set_message(std::move(message));
  return error;
}

// As a socket that takes so much at a time.
std::string SendAll(UnsentFrames& frames, std::size_t piece_bytes) {
  std::string received;
  while (!frames.left().empty()) {
    const std::string_view piece = frames.left().substr(0, piece_bytes);
    received.append(piece);
    frames.Sent(piece.size());
  }
  return received;
}

TEST(UnsentFrames, ArriveWholeAndInOrder) {
  UnsentFrames frames;
  ASSERT_TRUE(frames.Append(Saying("first")).ok());
  frames.Sent(3);
  ASSERT_TRUE(frames.Append(Saying("second")).ok());
  std::string expected;
  ASSERT_TRUE(AppendTaskFrame(Saying("first"), expected).ok());
  expected.erase(0, 3);
  ASSERT_TRUE(AppendTaskFrame(Saying("second"), expected).ok());
  EXPECT_EQ(SendAll(frames, 1), expected);
  ASSERT_TRUE(frames.Append(Saying("third")).ok());
  frames.Clear();
  EXPECT_TRUE(frames.left().empty());
}

TEST(UnsentFrames, AFrameThatGoesInManyPiecesIsMovedOnceOnAverage) {
  constexpr std::size_t kBytes = 8 << 20;
  constexpr std::size_t kPieceBytes = 4 << 10;
  UnsentFrames frames;
  ASSERT_TRUE(frames.Append(Saying(std::string(kBytes, 'x'))).ok());
  const std::size_t all = frames.left().size();
  EXPECT_EQ(SendAll(frames, kPieceBytes).size(), all);
  EXPECT_LE(frames.moved_bytes(), all) << "half of all pieces times all bytes before";
}

}  // namespace
}  // namespace weir
