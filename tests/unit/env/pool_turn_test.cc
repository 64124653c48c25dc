#include "runtime/env/pool_turn.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/env/real/asio_event_loop.h"

namespace weir::env {
namespace {

/// Runs nothing by itself.
class WaitingPool final : public WorkPool {
 public:
  void Run(Task work) override { waiting_.push_back(std::move(work)); }
  void RunAll() {
    for (Task& work : std::exchange(waiting_, {})) work();
  }

 private:
  std::vector<Task> waiting_;
};

TEST(PoolTurn, IsBegunOrWithdrawnAndNeverBoth) {
  PoolTurn begun;
  EXPECT_FALSE(begun.has_begun());
  EXPECT_TRUE(begun.Begin());
  EXPECT_TRUE(begun.has_begun());
  EXPECT_FALSE(begun.Withdraw());
  PoolTurn withdrawn;
  EXPECT_TRUE(withdrawn.Withdraw());
  EXPECT_FALSE(withdrawn.Withdraw()) << "once is enough";
  EXPECT_FALSE(withdrawn.Begin());
  EXPECT_FALSE(withdrawn.has_begun());
}

TEST(PoolTurn, WorkThatWasWithdrawnTellsNobodyAnything) {
  AsioEventLoop loop;
  WaitingPool pool;
  std::vector<std::string> told;
  const auto offload = [&](const std::string& name) {
    return OffloadInTurn(
        loop, pool, [&told, name] { return name + told.emplace_back(name + " works"); },
        [&told, name] { told.push_back(name + " has begun"); },
        [&told](const std::string& result) { told.push_back("done: " + result); });
  };
  const auto first = offload("first");
  const auto second = offload("second");
  EXPECT_TRUE(first->Withdraw());
  pool.RunAll();
  EXPECT_FALSE(second->Withdraw());
  loop.RunUntil([&] { return told.size() == 3; });
  EXPECT_EQ(told, (std::vector<std::string>{"second works", "second has begun",
                                            "done: secondsecond works"}));
}

}  // namespace
}  // namespace weir::env
