#include "runtime/worker/supervise/thread_signs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

namespace weir::worker {
namespace {

std::string Stat(const std::string& name, const std::string& state) {
  return "812 (" + name + ") " + state + " 1 812 812 0 -1 4194560 90 0 0 0 250 50 0 0 20 0 5 0 9 1";
}

TEST(ParseThreadStatTest, TimesAndState) {
  const auto running = ParseThreadStat(Stat("weir", "R"), 100);
  ASSERT_TRUE(running);
  EXPECT_EQ(running->id, 812);
  EXPECT_EQ(running->cpu, absl::Seconds(3));
  EXPECT_TRUE(running->runnable);
  EXPECT_FALSE(running->in_io);
  const auto in_io = ParseThreadStat(Stat("weir", "D"), 100);
  ASSERT_TRUE(in_io);
  EXPECT_TRUE(in_io->in_io);
  EXPECT_FALSE(in_io->runnable);
}

TEST(ParseThreadStatTest, NamesMayLookLikeFields) {
  const auto sign = ParseThreadStat(Stat("a) R 1 (b", "S"), 100);
  ASSERT_TRUE(sign);
  EXPECT_EQ(sign->cpu, absl::Seconds(3));
  EXPECT_FALSE(sign->runnable);
}

TEST(ParseThreadStatTest, WhatIsNoLineOfStat) {
  for (const char* text :
       {"", "812", "812 (weir) R", ") (", "x (weir) R 1 2 3 4 5 6 7 8 9 10 11 12",
        "812 (weir) R 1 2 3 4 5 6 7 8 9 10 x 12"}) {
    EXPECT_FALSE(ParseThreadStat(text, 100)) << text;
  }
}

TEST(ReadThreadSignsTest, ChildrenCountButNotTheFirstThread) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) {
    }
  }
  const auto found = [child] {
    const auto signs = ReadThreadSigns(getpid());
    return std::find_if(signs.begin(), signs.end(), [child](const ThreadSign& sign) {
             return sign.id == child;
           }) != signs.end();
  };
  EXPECT_TRUE(found());
  for (const ThreadSign& sign : ReadThreadSigns(getpid())) EXPECT_NE(sign.id, getpid());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(found());
  EXPECT_TRUE(ReadThreadSigns(child).empty());
}

}  // namespace
}  // namespace weir::worker
