#include "runtime/worker/supervise/control_group.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace weir::worker {
namespace {

using Files = std::map<std::string, std::string>;

ReadSmallFile Reading(const Files& files) {
  return [&files](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  };
}

TEST(ControlGroupMemoryTest, VersionTwoTakesTheLeastOnThePath) {
  const Files files = {{"/proc/self/cgroup", "0::/pod/box\n"},
                       {"/sys/fs/cgroup/pod/memory.max", "1000000\n"},
                       {"/sys/fs/cgroup/pod/memory.current", "950000\n"},
                       {"/sys/fs/cgroup/pod/memory.stat",
                        "anon 1\nfile 99999\ninactive_file 200000\nactive_file 50000\n"},
                       {"/sys/fs/cgroup/pod/box/memory.max", "800000\n"},
                       {"/sys/fs/cgroup/pod/box/memory.current", "100000\n"}};
  const auto memory = ControlGroupMemory(Reading(files));
  ASSERT_TRUE(memory);
  // The box may hold less, but the pod has less left: others fill it.
  EXPECT_EQ(memory->group, "/sys/fs/cgroup/pod/box");
  EXPECT_EQ(memory->limit_bytes, 800000);
  EXPECT_EQ(memory->available_bytes, 300000);
}

TEST(ControlGroupMemoryTest, VersionOneTakesTheLeastOnThePath) {
  Files files = {{"/proc/self/cgroup", "9:name=systemd:/x\n4:memory:/lab/w0\n0::/\n"},
                 {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
                 {"/sys/fs/cgroup/memory/lab/memory.limit_in_bytes", "500000\n"},
                 {"/sys/fs/cgroup/memory/lab/memory.usage_in_bytes", "400000\n"},
                 {"/sys/fs/cgroup/memory/lab/memory.stat",
                  "inactive_file 1\ntotal_inactive_file 60000\ntotal_active_file 40000\n"},
                 {"/sys/fs/cgroup/memory/lab/w0/memory.limit_in_bytes", "9223372036854771712\n"}};
  const auto memory = ControlGroupMemory(Reading(files));
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->group, "/sys/fs/cgroup/memory/lab");
  EXPECT_EQ(memory->limit_bytes, 500000);
  EXPECT_EQ(memory->available_bytes, 200000);
  files["/sys/fs/cgroup/memory/lab/memory.limit_in_bytes"] = "9223372036854771712\n";
  EXPECT_FALSE(ControlGroupMemory(Reading(files)));
}

TEST(ControlGroupMemoryTest, NothingOrNonsenseIsNoLimit) {
  EXPECT_FALSE(ControlGroupMemory(Reading({})));
  const Files files = {{"/proc/self/cgroup", "0::/a\n"},
                       {"/sys/fs/cgroup/a/memory.max", "max\n"},
                       {"/sys/fs/cgroup/memory.max", "many\n"}};
  EXPECT_FALSE(ControlGroupMemory(Reading(files)));
}

TEST(CountOomKillsTest, BothVersionsAndTheMachine) {
  const Files two = {{"/proc/self/cgroup", "0::/a/b\n"},
                     {"/sys/fs/cgroup/a/memory.events", "low 0\noom 9\noom_kill 3\n"},
                     {"/sys/fs/cgroup/a/b/memory.events", "oom 1\noom_kill 1\n"},
                     {"/proc/vmstat", "nr_free_pages 7\noom_kill 5\n"}};
  EXPECT_EQ(CountOomKills(Reading(two)).in_group, 3);
  EXPECT_EQ(CountOomKills(Reading(two)).on_machine, 5);
  const Files one = {
      {"/proc/self/cgroup", "4:memory:/a\n"},
      {"/sys/fs/cgroup/memory/a/memory.oom_control", "oom_kill_disable 0\noom_kill 2\n"}};
  EXPECT_EQ(CountOomKills(Reading(one)).in_group, 2);
  EXPECT_EQ(CountOomKills(Reading({})).in_group, 0);
}

TEST(ReadKernelFileTest, ReadsOrSaysNothing) {
  EXPECT_TRUE(ReadKernelFile("/proc/meminfo").value_or("").starts_with("MemTotal:"));
  EXPECT_FALSE(ReadKernelFile("/no/such/file"));
}

}  // namespace
}  // namespace weir::worker
