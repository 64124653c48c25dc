#include "runtime/worker/work_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;
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
  // What a daemon that died has left: a job with a run that was written down.
  std::string Dead() {
    auto directory = Claim("w", "aa");
    std::filesystem::create_directories(directory->path() + "/jobs/kept/runs");
    std::ofstream(directory->path() + "/jobs/kept/runs/3.1.run") << "x";
    std::ofstream(directory->path() + "/jobs/kept/runs/3.1.held") << "x";
    return directory->path();
  }
  bool Takes() {
    auto own = Claim("w", "bb");
    EXPECT_TRUE(own.ok()) << own.status();
    return own.ok() && std::filesystem::exists(own->path() + "/jobs/kept");
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

TEST_F(WorkDirectoryTest, TakesNothingOutOfADirectoryThatOthersMayEnter) {
  for (const mode_t mode : {0777, 0710, 0701}) {
    const std::string dead = Dead();
    ASSERT_EQ(chmod(dead.c_str(), mode), 0);
    testing::internal::CaptureStderr();
    const bool takes = Takes();
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(takes) << std::oct << mode;
    EXPECT_THAT(log, AllOf(HasSubstr("are not kept"), HasSubstr(dead), HasSubstr("no modes")));
    EXPECT_THAT(Entries(), UnorderedElementsAre("weir-worker-w-bb")) << "removed as any other";
    std::filesystem::remove_all(scratch_.path() + "/weir-worker-w-bb");
  }
}

TEST_F(WorkDirectoryTest, TakesNothingOutOfADirectoryOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a directory away";
  const std::string dead = Dead();
  ASSERT_EQ(chown(dead.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(Takes());
  EXPECT_TRUE(std::filesystem::exists(dead + "/jobs/kept/runs/3.1.run")) << "it is theirs";
}

// Somebody else makes the directory anew after it was looked at.
class ExchangedWhenLocked final : public env::PosixStorage {
 public:
  absl::StatusOr<std::unique_ptr<env::FileLock>> TakeLock(const std::string& path) override {
    EXPECT_EQ(chmod(std::filesystem::path(path).parent_path().c_str(), 0777), 0);
    return PosixStorage::TakeLock(path);
  }
};

TEST_F(WorkDirectoryTest, LooksAgainOnceItHasTheLock) {
  Dead();
  ExchangedWhenLocked storage;
  auto own = WorkDirectory::Claim(storage, scratch_.path(), "w", "bb", LeftRuns::kTaken);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_FALSE(std::filesystem::exists(own->path() + "/jobs/kept"));
}

// Somebody else puts a link to what is not theirs in the place of the directory: while its lock is
// taken, or later, while it is removed.
class ExchangedForALink final : public env::PosixStorage {
 public:
  enum class When { kLocked, kRemoved };
  ExchangedForALink(When when, std::string directory, std::string victim)
      : when_(when), directory_(std::move(directory)), victim_(std::move(victim)) {}

  absl::StatusOr<std::unique_ptr<env::FileLock>> TakeLock(const std::string& path) override {
    auto lock = PosixStorage::TakeLock(path);
    if (when_ == When::kLocked) PutLink();
    return lock;
  }
  absl::Status RemoveAll(const std::string& path) override {
    if (when_ == When::kRemoved) PutLink();
    return PosixStorage::RemoveAll(path);
  }

 private:
  void PutLink() {
    if (std::exchange(exchanged_, true)) return;
    std::filesystem::rename(directory_, directory_ + ".away");
    std::filesystem::create_directory_symlink(victim_, directory_);
  }

  const When when_;
  const std::string directory_;
  const std::string victim_;
  bool exchanged_ = false;
};

TEST_F(WorkDirectoryTest, RemovesNothingBehindALinkThatTakesTheDirectorysPlace) {
  const std::string victim = scratch_.path() + "/victim";
  std::filesystem::create_directories(victim + "/jobs/precious");
  using When = ExchangedForALink::When;
  for (const When when : {When::kLocked, When::kRemoved}) {
    ExchangedForALink storage(when, Dead(), victim);
    auto own = WorkDirectory::Claim(storage, scratch_.path(), "w", "bb", LeftRuns::kRemoved);
    EXPECT_TRUE(own.ok()) << own.status();
    EXPECT_TRUE(std::filesystem::exists(victim + "/jobs/precious")) << static_cast<int>(when);
    for (const std::string name : {"weir-worker-w-aa", "weir-worker-w-aa.away", "weir-worker-w-bb"})
      std::filesystem::remove_all(scratch_.path() + "/" + name);
  }
}

TEST_F(WorkDirectoryTest, FollowsNoLinkToADirectory) {
  const std::string dead = Dead();
  const std::string elsewhere = scratch_.path() + "/elsewhere";
  std::filesystem::rename(dead, elsewhere);
  ASSERT_EQ(symlink(elsewhere.c_str(), dead.c_str()), 0);
  EXPECT_FALSE(Takes());
  EXPECT_TRUE(std::filesystem::exists(elsewhere + "/jobs/kept/runs/3.1.held"));
  EXPECT_TRUE(std::filesystem::is_symlink(dead)) << "no daemon made it";
}

TEST_F(WorkDirectoryTest, FollowsNoLinkToALock) {
  const std::string dead = Dead();
  const std::string elsewhere = scratch_.path() + "/elsewhere";
  std::filesystem::rename(dead + "/lock", elsewhere);
  ASSERT_EQ(symlink(elsewhere.c_str(), (dead + "/lock").c_str()), 0);
  EXPECT_FALSE(Takes());
}

TEST_F(WorkDirectoryTest, NobodyKeepsItFromItsRunsByALinkThatLeadsNowhere) {
  Dead();
  for (const std::string name : {"/weir-worker-w-cc", "/other"}) {
    const std::string loop = scratch_.path() + name;
    ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  }
  EXPECT_TRUE(Takes());
}

TEST_F(WorkDirectoryTest, TwoLivingDaemonsOfOneNameLeaveEachOtherAlone) {
  auto first = Claim("w", "aa");
  auto second = Claim("w", "bb");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(Entries(), UnorderedElementsAre("weir-worker-w-aa", "weir-worker-w-bb"));
}

// Another daemon of the same name starts between the making of a file and its lock.
class OvertakenBeforeItLocks final : public env::PosixStorage {
 public:
  explicit OvertakenBeforeItLocks(std::string work_dir) : work_dir_(std::move(work_dir)) {}

  absl::StatusOr<std::unique_ptr<env::FileLock>> MakeLock(const std::string& path) override {
    EXPECT_TRUE(WriteFile(path, "").ok());
    env::PosixStorage storage;
    other_ = WorkDirectory::Claim(storage, work_dir_, "w", "other", LeftRuns::kTaken);
    return PosixStorage::MakeLock(path);
  }

  const absl::StatusOr<WorkDirectory>& other() const { return other_; }

 private:
  std::string work_dir_;
  absl::StatusOr<WorkDirectory> other_ = absl::UnknownError("not started");
};

TEST_F(WorkDirectoryTest, OneThatStartsBesideItLeavesItsUnlockedDirectoryAlone) {
  OvertakenBeforeItLocks storage(scratch_.path());
  auto own = WorkDirectory::Claim(storage, scratch_.path(), "w", "aa", LeftRuns::kTaken);
  ASSERT_TRUE(own.ok()) << own.status();
  ASSERT_TRUE(storage.other().ok()) << storage.other().status();
  EXPECT_THAT(Entries(), UnorderedElementsAre("weir-worker-w-aa", "weir-worker-w-other"));
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
