#include "runtime/task/start/shipped_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::task {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class ShippedFilesTest : public ::testing::Test {
 protected:
  ShippedFilesTest() {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / absl::StrCat("shipped-", info->name());
    fs::remove_all(root_);
    fs::create_directories(root_ / "work");
  }
  ~ShippedFilesTest() override { fs::remove_all(root_); }

  // An archive of what the commands make in a folder of their own.
  std::string Archive(const std::string& commands) {
    const std::string path = root_ / "a.tar";
    const std::string script = absl::StrCat("mkdir -p '", (root_ / "made").string(), "' && cd '",
                                            (root_ / "made").string(), "' && ", commands);
    EXPECT_EQ(std::system(script.c_str()), 0) << script;
    return path;
  }
  v1::JobError Place(const std::string& archive) {
    v1::TaskCommand::Start start;
    start.set_work_dir(root_ / "work");
    v1::TaskCommand::Start::Archive& shipped = *start.add_archives();
    shipped.set_path(archive);
    shipped.set_folder("lib");
    const absl::Status placed = PlaceShippedFiles(start);
    EXPECT_FALSE(placed.ok());
    return JobErrorFromStatus(placed);
  }
  fs::path root_;
};

TEST_F(ShippedFilesTest, AWorkDirectoryThatFailsIsItsWorkersFault) {
  const std::string archive = Archive("echo x > f && tar -cf ../a.tar f");
  fs::remove_all(root_ / "work");  // as a disk that fails says of what was there
  const v1::JobError error = Place(archive);
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << DescribeJobError(error);
  EXPECT_EQ(error.code(), job_error::kInternal) << "no input is missing";
}

TEST_F(ShippedFilesTest, ADiskThatDoesNotReadAnArchiveIsItsWorkersFault) {
  // Its first bytes belong to nobody: reading them is EIO.
  const v1::JobError error = Place("/proc/self/mem");
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << DescribeJobError(error);
  EXPECT_EQ(error.code(), job_error::kInternal);
  EXPECT_THAT(error.message(), HasSubstr("cannot read /proc/self/mem"));
}

TEST_F(ShippedFilesTest, AnArchiveThatIsGoneFromItsWorkerIsItsWorkersFault) {
  const v1::JobError error = Place(root_ / "lost.tar");
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << DescribeJobError(error);
  EXPECT_EQ(error.code(), job_error::kInternal) << "no input is missing";
}

TEST_F(ShippedFilesTest, AWorkerWithoutDescriptorsIsAtFault) {
  const std::string archive = Archive("echo x > f && tar -cf ../a.tar f");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(lowest_free, 0);
  ::close(lowest_free);
  // None that reads the archive, and one, which is missed where its files are made.
  for (const int left : {0, 1}) {
    const rlimit few{static_cast<rlim_t>(lowest_free + left), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    v1::TaskCommand::Start start;
    start.set_work_dir(root_ / "work");
    start.add_archives()->set_path(archive);
    start.mutable_archives(0)->set_folder("lib");
    const absl::Status placed = PlaceShippedFiles(start);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_FALSE(placed.ok());
    const v1::JobError error = JobErrorFromStatus(placed);
    EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << left << ": " << DescribeJobError(error);
  }
}

TEST_F(ShippedFilesTest, AnArchiveThatCannotBeUnpackedIsNoWorkersFault) {
  // A file and a folder of one name.
  const v1::JobError error = Place(Archive(
      "mkdir -p b d/b && echo x > d/b/f && rmdir b && echo y > b && tar -cf ../a.tar -C d b/f "
      "&& tar -rf ../a.tar b"));
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_UNSPECIFIED) << DescribeJobError(error);
  EXPECT_EQ(Place(Archive("echo no archive > ../a.tar")).fault_of(), v1::FAULT_OF_UNSPECIFIED);
}

}  // namespace
}  // namespace weir::task
