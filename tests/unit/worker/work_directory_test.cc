#include "runtime/worker/work_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

using testing::UnorderedElementsAre;

class WorkDirectoryTest : public testing::Test {
 protected:
  absl::StatusOr<WorkDirectory> Claim(const std::string& name, const std::string& incarnation) {
    return WorkDirectory::Claim(storage_, scratch_.path(), name, incarnation, LeftRuns::kTaken);
  }
  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  env::PosixStorage storage_;
  ScratchDirectory scratch_;
};

TEST_F(WorkDirectoryTest, IsPrivateAndGoesWhole) {
  auto directory = Claim("127.0.0.1:7100", "aa");
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_EQ(directory->path(), scratch_.path() + "/weir-worker-127.0.0.1_7100-aa");
  struct stat info {};
  ASSERT_EQ(stat(directory->path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  std::ofstream(directory->path() + "/jobs/file") << "x";
  EXPECT_TRUE(directory->Remove(storage_).ok());
  EXPECT_THAT(Entries(), UnorderedElementsAre());
}

TEST_F(WorkDirectoryTest, RemovesWhatTheDeadLeftAndNothingElse) {
  { auto dead = Claim("w", "aa"); }  // unlocked, but not removed: as after a crash
  auto living = Claim("w2", "bb");
  auto other = Claim("w-x", "cc");
  std::filesystem::create_directory(scratch_.path() + "/weir-worker-w-half");  // removal cut short
  std::filesystem::create_directory(scratch_.path() + "/data");
  auto own = Claim("w", "dd");
  ASSERT_TRUE(own.ok());
  EXPECT_THAT(Entries(), UnorderedElementsAre("weir-worker-w-dd", "weir-worker-w2-bb",
                                              "weir-worker-w-x-cc", "data"));
}

TEST_F(WorkDirectoryTest, TakesJobsOverOfWhichRunsWereWrittenDown) {
  std::string dead;
  {
    auto directory = Claim("w", "aa");
    dead = directory->path();
    std::filesystem::create_directories(dead + "/jobs/kept/runs");
    std::filesystem::create_directories(dead + "/jobs/other/runs");
    std::ofstream(dead + "/jobs/kept/runs/3.1.run") << "x";
    std::ofstream(dead + "/jobs/kept/runs/3.1.held") << "x";
    std::ofstream(dead + "/jobs/other/runs/3.1.run") << "x";
  }
  auto own = Claim("w", "bb");
  ASSERT_TRUE(own.ok());
  EXPECT_TRUE(std::filesystem::exists(own->path() + "/jobs/kept/runs/3.1.run"));
  EXPECT_FALSE(std::filesystem::exists(own->path() + "/jobs/other"));
  EXPECT_FALSE(std::filesystem::exists(dead));
  const std::string left = own->path();
  own = absl::UnavailableError("killed");
  auto without = WorkDirectory::Claim(storage_, scratch_.path(), "w", "cc", LeftRuns::kRemoved);
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(std::filesystem::exists(without->path() + "/jobs/kept"));
  EXPECT_THAT(Entries(), UnorderedElementsAre("weir-worker-w-cc"));
}

TEST_F(WorkDirectoryTest, TwoLivingDaemonsOfOneNameLeaveEachOtherAlone) {
  auto first = Claim("w", "aa");
  auto second = Claim("w", "bb");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(Entries(), UnorderedElementsAre("weir-worker-w-aa", "weir-worker-w-bb"));
}

TEST_F(WorkDirectoryTest, SaysWhichDirectoryIsMissing) {
  auto directory =
      WorkDirectory::Claim(storage_, scratch_.path() + "/nowhere", "w", "aa", LeftRuns::kTaken);
  EXPECT_TRUE(absl::IsNotFound(directory.status()));
  EXPECT_THAT(std::string(directory.status().message()),
              testing::HasSubstr("/nowhere does not exist"));
  EXPECT_TRUE(absl::IsInvalidArgument(Claim("", "aa").status()));
}

}  // namespace
}  // namespace weir::worker
