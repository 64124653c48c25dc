// What the planner is told of the memory of steps, of disks and of cores, by what workers say of
// themselves.

#include <gtest/gtest.h>

#include <vector>

#include "planner/job/step_spill.h"
#include "runtime/base/task_memory.h"
#include "runtime/master/planning/cluster_profile.h"
#include "runtime/master/planning/plan_request.h"

namespace weir::master {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

RegisteredWorker Worker(const char* name, const char* domain) {
  RegisteredWorker worker;
  worker.identity.set_name(name);
  worker.identity.set_handover_domain(domain);
  worker.profile.set_slots(2);
  return worker;
}

TEST(TaskMemory, LeavesThePrograms40MiBOrHalf) {
  EXPECT_EQ(SpillAboveOf(128 * kMiB), 88 * kMiB);
  EXPECT_EQ(SpillAboveOf(64 * kMiB), 32 * kMiB);
  EXPECT_EQ(MemoryOfTask(128 * kMiB, 0.5), 64 * kMiB);
  EXPECT_EQ(MemoryOfTask(128 * kMiB, 0), 128 * kMiB);  // a master of before says no share
  EXPECT_EQ(MemoryOfTask(0, 0.5), 0);
  EXPECT_EQ(MemoryOfTask(1, 0.1), 1);
}

TEST(TaskMemory, RunsReferToAnInputOfHalfOfIt) {
  EXPECT_TRUE(MayReferToInput(44 * kMiB, 88 * kMiB));
  EXPECT_FALSE(MayReferToInput(44 * kMiB + 1, 88 * kMiB));
  EXPECT_TRUE(MayReferToInput(INT64_MAX, 0)) << "no limit";
  EXPECT_FALSE(MayReferToInput(0, 88 * kMiB)) << "nobody said how large it is";
}

TEST(SlotsACore, IsOneButWhereAQuotaOrTooFewCoresSayMore) {
  v1::WorkerProfile profile;
  profile.set_slots(2);
  EXPECT_EQ(SlotsACore(profile), 1);  // of an earlier version, or of this process
  profile.set_cores(4);
  EXPECT_EQ(SlotsACore(profile), 1);
  profile.set_cores(0.5);
  EXPECT_EQ(SlotsACore(profile), 4);
}

TEST(SpillRoom, IsThePartOfTheLimitThatTheJobGets) {
  v1::WorkerProfile profile;
  profile.set_memory_bytes(256 * kMiB);
  profile.set_spill_above_bytes(1);  // of no meaning beside a limit
  EXPECT_EQ(SpillAbove(profile, 1), 216 * kMiB);
  EXPECT_EQ(SpillAbove(profile, 0.5), 88 * kMiB);
}

TEST(SpillRoom, IsWhatTheWorkerSaysWhereItHasNoLimit) {
  v1::WorkerProfile profile;
  // One of before says nothing: then nothing is predicted.
  EXPECT_EQ(SpillAbove(profile, 0.5), 0);
  profile.set_spill_above_bytes(3 * kMiB);
  EXPECT_EQ(SpillAbove(profile, 0.5), 3 * kMiB);
}

TEST(SpillRoom, WorkersOfOneMachineShareItsDisk) {
  std::vector<RegisteredWorker> workers = {Worker("a", "one"), Worker("b", "one"), Worker("c", ""),
                                           Worker("d", "")};
  for (RegisteredWorker& worker : workers) {
    worker.profile.set_disk_write_bytes_per_s(4e8);
    worker.profile.set_disk_read_bytes_per_s(8e8);
    worker.profile.set_available_memory_bytes(10'000'000'000);
  }
  workers[3].profile.clear_disk_read_bytes_per_s();  // not measured
  const planner::ClusterProfile cluster = MakeClusterProfile(workers, MasterOptions());
  EXPECT_EQ(cluster.workers[1].disk.write_bytes_per_s, 2e8);
  EXPECT_EQ(cluster.workers[1].disk.read_bytes_per_s, 4e8);
  EXPECT_EQ(cluster.workers[1].disk.cached_bytes, 5e8);
  EXPECT_EQ(cluster.workers[2].disk.write_bytes_per_s, 4e8);
  EXPECT_EQ(cluster.workers[3].disk.write_bytes_per_s, 0);
}

}  // namespace
}  // namespace weir::master
