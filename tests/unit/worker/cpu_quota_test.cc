#include "runtime/worker/measure/cpu_quota.h"

#include <map>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace weir::worker {
namespace {

std::optional<double> Cores(const std::map<std::string, std::string>& files) {
  return CpuQuotaCores([&files](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  });
}

TEST(CpuQuotaTest, VersionTwoTakesTheLeastOnThePath) {
  EXPECT_EQ(Cores({{"/proc/self/cgroup", "0::/a/b\n"},
                   {"/sys/fs/cgroup/cpu.max", "max 100000\n"},
                   {"/sys/fs/cgroup/a/cpu.max", "50000 100000\n"},
                   {"/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"}}),
            0.5);
}

TEST(CpuQuotaTest, VersionOneWithAndWithoutAQuota) {
  std::map<std::string, std::string> files = {
      {"/proc/self/cgroup", "4:memory:/m\n1:cpu:/lab/w0\n0::/\n"},
      {"/sys/fs/cgroup/cpu/lab/w0/cpu.cfs_quota_us", "2000\n"},
      {"/sys/fs/cgroup/cpu/lab/w0/cpu.cfs_period_us", "10000\n"},
      {"/sys/fs/cgroup/cpu/lab/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu/lab/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(Cores(files), 0.2);
  files["/sys/fs/cgroup/cpu/lab/w0/cpu.cfs_quota_us"] = "-1\n";
  EXPECT_EQ(Cores(files), std::nullopt);
}

TEST(CpuQuotaTest, ControllersMountedTogether) {
  EXPECT_EQ(Cores({{"/proc/self/cgroup", "3:cpu,cpuacct:/d\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/d/cpu.cfs_quota_us", "300000"},
                   {"/sys/fs/cgroup/cpu,cpuacct/d/cpu.cfs_period_us", "100000"}}),
            3.0);
}

TEST(CpuQuotaTest, InAContainerTheMountIsTheGroup) {
  EXPECT_EQ(Cores({{"/proc/self/cgroup", "0::/docker/4f\n"},
                   {"/sys/fs/cgroup/cpu.max", "25000 100000\n"}}),
            0.25);
}

TEST(CpuQuotaTest, NothingOrNonsenseIsNoQuota) {
  EXPECT_EQ(Cores({}), std::nullopt);
  EXPECT_EQ(Cores({{"/proc/self/cgroup", "nonsense\n::\n0::\n0::relative\n"}}), std::nullopt);
  EXPECT_EQ(Cores({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "0 0\n"}}),
            std::nullopt);
}

TEST(CpuQuotaTest, ThreadsThatAQuotaKeepsBusy) {
  EXPECT_EQ(ThreadsFor(8, std::nullopt), 8);
  EXPECT_EQ(ThreadsFor(8, 0.05), 1);
  EXPECT_EQ(ThreadsFor(8, 2.0), 2);
  EXPECT_EQ(ThreadsFor(8, 2.5), 3);
  EXPECT_EQ(ThreadsFor(2, 16.0), 2);
}

}  // namespace
}  // namespace weir::worker
