#include "runtime/worker/measure/kept_profile.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "runtime/worker/measure/given_profile.h"

namespace weir::worker {
namespace {

const ProfileKey kHere{.machine_id = 0xabcdef,
                       .version = "0.9.1",
                       .slots = 2,
                       .cores = 0.25,
                       .work_dir = "/a disk/work"};

MachineProfile Measured() {
  MachineProfile profile;
  profile.slot_compute_rate = 1.0 / 3;
  profile.compute_rate = 0.6;
  profile.available_memory_bytes = 1 << 30;
  profile.disk_write_bytes_per_s = 123456789.125;
  profile.disk_read_bytes_per_s = 2.5e9;
  profile.task_start_s = 0.017;
  return profile;
}

TEST(KeptProfileTest, IsWhatWasMeasuredButForFreeMemory) {
  const std::optional<MachineProfile> kept = KeptProfile(kHere, KeptProfileText(kHere, Measured()));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->slot_compute_rate, 1.0 / 3);
  EXPECT_EQ(kept->compute_rate, 0.6);
  EXPECT_EQ(kept->disk_write_bytes_per_s, 123456789.125);
  EXPECT_EQ(kept->disk_read_bytes_per_s, 2.5e9);
  EXPECT_EQ(kept->task_start_s, 0.017);
  EXPECT_EQ(kept->available_memory_bytes, 0);
}

TEST(GivenProfileTest, CountsInsteadOfWhatWasMeasured) {
  const MachineProfile same = WithGiven(Measured(), {}, 4);
  EXPECT_EQ(same.compute_rate, 0.6);
  EXPECT_EQ(same.slot_compute_rate, 1.0 / 3);
  EXPECT_EQ(same.disk_write_bytes_per_s, 123456789.125);
  EXPECT_EQ(same.disk_read_bytes_per_s, 2.5e9);
  EXPECT_EQ(same.task_start_s, 0.017);
  const MachineProfile told = WithGiven(
      Measured(), {.compute_rate = 2, .disk_write_bytes_per_s = 1e8, .task_start_s = 0.5}, 4);
  EXPECT_EQ(told.compute_rate, 2);
  EXPECT_EQ(told.slot_compute_rate, 0.5);
  EXPECT_EQ(told.disk_write_bytes_per_s, 1e8);
  EXPECT_EQ(told.disk_read_bytes_per_s, 2.5e9) << "nobody said";
  EXPECT_EQ(told.task_start_s, 0.5);
  EXPECT_EQ(told.available_memory_bytes, std::int64_t{1} << 30);
}

TEST(KeptProfileTest, HoldsForOneBootOneVersionOneNumberOfSlotsOneQuotaAndOneWorkDirectory) {
  const std::string text = KeptProfileText(kHere, Measured());
  ProfileKey other = kHere;
  other.machine_id = 0xabcdee;
  EXPECT_FALSE(KeptProfile(other, text)) << "booted since, or another host on a shared directory";
  other = kHere;
  other.version = "0.9.2";
  EXPECT_FALSE(KeptProfile(other, text));
  other = kHere;
  other.slots = 3;
  EXPECT_FALSE(KeptProfile(other, text));
  other = kHere;
  other.cores = 0.5;
  EXPECT_FALSE(KeptProfile(other, text));
  other = kHere;
  other.work_dir = "/other/work";
  EXPECT_FALSE(KeptProfile(other, text)) << "another disk";
  EXPECT_NE(KeptProfileName(kHere.work_dir), KeptProfileName(other.work_dir));
}

TEST(KeptProfileTest, OfAMachineThatIsNotKnownNothingIsKept) {
  ProfileKey unknown = kHere;
  unknown.machine_id = 0;
  EXPECT_FALSE(KeptProfile(unknown, KeptProfileText(unknown, Measured())));
}

TEST(KeptProfileTest, DamagedTextIsNoProfile) {
  const std::string text = KeptProfileText(kHere, Measured());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(KeptProfile(kHere, text.substr(0, length))) << length;
  }
  for (const std::string& wrong : {std::string("-1"), std::string("nan"), std::string("inf"),
                                   std::string("x"), std::string("1 1")}) {
    std::string damaged = text;
    damaged.replace(damaged.find("0.017"), 21, wrong);
    EXPECT_FALSE(KeptProfile(kHere, damaged)) << damaged;
  }
}

}  // namespace
}  // namespace weir::worker
