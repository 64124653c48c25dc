// Calls that begin while their server ends.

#include "runtime/rpc/grpc/open_calls.h"

#include <gtest/gtest.h>

#include <thread>

namespace weir::rpc {
namespace {

TEST(OpenCallsTest, ACallEndedWhileItEntersLeavesUnderItsOwnKey) {
  for (int round = 0; round < 500; ++round) {
    OpenCalls calls;
    std::thread closing([&calls] { calls.EndAll(); });
    OpenCalls::Key key = 0;
    bool ended = false;
    const auto end = [&] {
      ended = true;
      calls.Leave(key);
    };
    const bool entered = calls.Enter(end, &key);
    closing.join();
    calls.WaitUntilEmpty();
    EXPECT_EQ(ended, entered);
  }
}

TEST(OpenCallsTest, NothingEntersOnceAllWereEnded) {
  OpenCalls calls;
  calls.EndAll();
  OpenCalls::Key key = 0;
  EXPECT_FALSE(calls.Enter([] { ADD_FAILURE() << "ended, though never begun"; }, &key));
  calls.EndAll();
}

}  // namespace
}  // namespace weir::rpc
