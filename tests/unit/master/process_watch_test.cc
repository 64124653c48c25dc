#include "runtime/master/workers/process_watch.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/limits.h"
#include "tests/sim/virtual_time.h"

namespace weir::master {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Holds connections that end when a test says so.
class HeldConnections final : public rpc::WorkerConnector {
 public:
  struct Held {
    std::string endpoint;
    absl::AnyInvocable<void(bool)> on_end;
    bool left = false;
  };

  std::unique_ptr<rpc::WorkerApi> Connect(const std::string&) override { return nullptr; }
  void AskIfGone(const std::string&, absl::Duration, absl::AnyInvocable<void(bool)>) override {}
  void AskWho(const std::string&, rpc::Reply<v1::IdentifyResponse>) override {}
  std::unique_ptr<rpc::Subscription> HoldOpen(const std::string& endpoint,
                                              absl::AnyInvocable<void(bool)> on_end) override {
    held.push_back(std::make_shared<Held>(Held{endpoint, std::move(on_end)}));
    return std::make_unique<Leaves>(held.back());
  }
  void End(std::size_t index, bool was_open) {
    if (!held[index]->left) held[index]->on_end(was_open);
  }

  std::vector<std::shared_ptr<Held>> held;

 private:
  struct Leaves final : rpc::Subscription {
    explicit Leaves(std::shared_ptr<Held> held) : connection(std::move(held)) {}
    ~Leaves() override { connection->left = true; }
    std::shared_ptr<Held> connection;
  };
};

class ProcessWatchTest : public testing::Test {
 protected:
  void RunFor(absl::Duration duration) {
    bool over = false;
    loop_->RunAt(time_.now() + duration, [&over] { over = true; });
    while (!over && time_.RunNext()) {
    }
  }

  sim::VirtualTime time_;
  std::shared_ptr<sim::ProcessLoop> loop_ = std::make_shared<sim::ProcessLoop>(time_);
  HeldConnections connections_;
  std::vector<std::pair<WorkerId, Epoch>> broken_;
  ProcessWatch watch_{*loop_, connections_, [this](WorkerId worker, Epoch epoch) {
                        broken_.emplace_back(worker, epoch);
                      }};
};

TEST_F(ProcessWatchTest, SaysThatAConnectionBrokeOnceItsProcessHasHadTimeToEnd) {
  watch_.Follow(1, 7, "a:1");
  watch_.Follow(2, 8, "b:1");
  ASSERT_EQ(connections_.held.size(), 2u);
  EXPECT_EQ(connections_.held[1]->endpoint, "b:1");
  connections_.End(1, /*was_open=*/true);
  EXPECT_THAT(broken_, IsEmpty());
  RunFor(limits::kProcessEndSettles);
  EXPECT_THAT(broken_, ElementsAre(Pair(2, 8)));
}

TEST_F(ProcessWatchTest, SaysNothingOfOneThatNeverOpenedAndMakesItAgain) {
  watch_.Follow(1, 7, "a:1");
  connections_.End(0, /*was_open=*/false);
  RunFor(limits::kHoldAgain);
  EXPECT_THAT(broken_, IsEmpty());
  ASSERT_EQ(connections_.held.size(), 2u);
  EXPECT_TRUE(connections_.held[0]->left);
  connections_.End(1, /*was_open=*/true);
  RunFor(limits::kProcessEndSettles);
  EXPECT_THAT(broken_, ElementsAre(Pair(1, 7)));
}

TEST_F(ProcessWatchTest, WhoIsFollowedNoMoreIsLeftAlone) {
  watch_.Follow(1, 7, "a:1");
  watch_.Follow(2, 8, "b:1");
  connections_.End(0, /*was_open=*/true);
  watch_.Forget(1);
  watch_.Forget(2);
  EXPECT_TRUE(connections_.held[1]->left);
  RunFor(2 * limits::kHoldAgain);
  EXPECT_THAT(broken_, IsEmpty());
  EXPECT_EQ(connections_.held.size(), 2u);
}

TEST_F(ProcessWatchTest, ANewRegistrationReplacesTheOneBefore) {
  watch_.Follow(1, 7, "a:1");
  connections_.End(0, /*was_open=*/true);
  watch_.Follow(1, 9, "a:2");
  RunFor(2 * limits::kHoldAgain);
  EXPECT_THAT(broken_, IsEmpty()) << "its successor has come already";
  ASSERT_EQ(connections_.held.size(), 2u);
  connections_.End(1, /*was_open=*/true);
  RunFor(limits::kProcessEndSettles);
  EXPECT_THAT(broken_, ElementsAre(Pair(1, 9)));
}

}  // namespace
}  // namespace weir::master
