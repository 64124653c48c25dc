#include "runtime/worker/measure/measure_machine.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/env/real/blocking_work_pool.h"
#include "runtime/worker/measure/compute_kernel.h"
#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

TEST(ComputeKernel, DoesTheSameWorkEachTime) {
  ComputeKernel a;
  ComputeKernel b;
  EXPECT_EQ(a.Pass(), b.Pass());
  EXPECT_EQ(a.words(), b.words());
  EXPECT_GT(a.words(), 10'000u);
}

TEST(MeasureMachine, EverySlotWorksAndTheTimeIsBounded) {
  env::AsioEventLoop loop;
  env::BlockingWorkPool pool;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { pool.Serve(); });
  MachineProfile profile;
  const MonoTime begin = loop.Now();
  MeasureCompute(pool, 3, 2, {[&] { return loop.Now(); }, env::ThreadCpuTime},
                 absl::Milliseconds(5), profile);
  EXPECT_LT(loop.Now() - begin, absl::Seconds(5));
  EXPECT_GT(profile.slot_compute_rate, 0);
  EXPECT_GT(profile.compute_rate, 0);
  EXPECT_LT(profile.compute_rate, 10 * profile.slot_compute_rate);
  pool.Close();
  for (std::thread& thread : threads) thread.join();
}

TEST(MeasureMachine, AThreadThatGetsNoTurnStillMeasuresOnePass) {
  env::BlockingWorkPool pool;
  std::thread thread([&] { pool.Serve(); });
  MonoTime wall;
  MonoTime cpu;
  const ComputeClocks clocks{[&] { return wall = wall + absl::Seconds(1); },
                             [&] { return cpu = cpu + absl::Milliseconds(1); }};
  MachineProfile profile;
  MeasureCompute(pool, 1, 1, clocks, absl::Milliseconds(5), profile);
  EXPECT_GT(profile.slot_compute_rate, 0);
  pool.Close();
  thread.join();
}

TEST(MeasureMachine, TheDiskProbeLeavesNothingAndNamesWhatFails) {
  env::AsioEventLoop loop;
  const ScratchDirectory directory;
  MachineProfile profile;
  const Clock clock = [&] { return loop.Now(); };
  ASSERT_TRUE(MeasureDisk(directory.path(), clock, profile).ok());
  EXPECT_GT(profile.disk_write_bytes_per_s, 0);
  EXPECT_GT(profile.disk_read_bytes_per_s, 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  const absl::Status failed = MeasureDisk("/no/such/directory", clock, profile);
  EXPECT_TRUE(absl::IsNotFound(failed)) << failed;
}

TEST(MeasureMachine, TheDiskIsMeasuredInNobodysFile) {
  env::AsioEventLoop loop;
  const ScratchDirectory directory;
  const ScratchDirectory elsewhere;
  const std::string precious = elsewhere.path() + "/precious";
  std::ofstream(precious) << "precious";
  // What anybody can put into a work directory that is open to all.
  const std::string link = directory.path() + "/disk-probe";
  std::filesystem::create_symlink(precious, link);
  MachineProfile profile;
  const absl::Status measured = MeasureDisk(
      directory.path(), [&] { return loop.Now(); }, profile);
  EXPECT_TRUE(measured.ok()) << measured;
  EXPECT_EQ(std::filesystem::file_size(precious), 8u);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST(MeasureMachine, AMissingTaskProgramIsAnError) {
  env::AsioEventLoop loop;
  const ScratchDirectory directory;
  TaskOptions options;
  options.program = "/no/such/program";
  EXPECT_FALSE(MeasureTaskStart(options, directory.path(), "x", [&] { return loop.Now(); }).ok());
  options.program = "/bin/true";
  options.arguments = {"true"};
  EXPECT_FALSE(MeasureTaskStart(options, directory.path(), "x", [&] { return loop.Now(); }).ok());
}

TEST(MeasureMachine, TablesMayHaveAPartOfWhatIsFree) {
  EXPECT_EQ(SpillAbove(1000, 1), 600);
  EXPECT_EQ(SpillAbove(1000, 0.5), 300);
  EXPECT_EQ(SpillAbove(1000, 4), 600) << "more slots than cores";
  EXPECT_EQ(SpillAbove(0, 1), 0);
}

TEST(MeasureMachine, ReadsAvailableMemory) {
  const std::string meminfo = "MemTotal: 100 kB\nMemAvailable:     2048 kB\n";
  EXPECT_EQ(AvailableMemory(meminfo, std::nullopt), 2 << 20);
  EXPECT_EQ(AvailableMemory("MemTotal: 100 kB\n", std::nullopt), 0);
  EXPECT_EQ(AvailableMemory("", std::nullopt), 0);
  GroupMemory group = {.group = "/g", .limit_bytes = 3 << 20, .available_bytes = 1 << 20};
  EXPECT_EQ(AvailableMemory(meminfo, group), 1 << 20);
  EXPECT_EQ(AvailableMemory("", group), 1 << 20);
  group.available_bytes = 3 << 20;
  EXPECT_EQ(AvailableMemory(meminfo, group), 2 << 20);
}

}  // namespace
}  // namespace weir::worker
