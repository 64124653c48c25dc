#include "runtime/env/real/run_handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/base/errno_status.h"
#include "tests/unit/format/failing_close.h"

namespace weir::env {
namespace {

class RunHandoverTest : public testing::Test {
 protected:
  RunHandoverTest() {
    char name[] = "/tmp/weir-handover-XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~RunHandoverTest() override { std::filesystem::remove_all(dir_); }

  static void Put(const std::string& path, const std::string& content) {
    std::ofstream(path) << content;
  }
  static std::string ContentOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string dir_;
};

TEST_F(RunHandoverTest, LinksWithinAFileSystem) {
  const std::string from = dir_ + "/3.1.run";
  const std::string to = dir_ + "/linked.run";
  Put(from, "bytes");
  ASSERT_TRUE(HandOverRun(from, to).ok());
  EXPECT_TRUE(std::filesystem::equivalent(from, to));
  EXPECT_TRUE(HandOverRun(from, to).ok()) << "again is no error";
}

TEST_F(RunHandoverTest, OutlivesItsProducer) {
  const std::string from = dir_ + "/3.1.run";
  const std::string to = dir_ + "/linked.run";
  Put(from, "bytes");
  ASSERT_TRUE(HandOverRun(from, to).ok());
  std::filesystem::remove(from);
  EXPECT_EQ(ContentOf(to), "bytes");
}

TEST_F(RunHandoverTest, CopiesAcrossFileSystems) {
  struct stat here {};
  struct stat there {};
  if (stat(dir_.c_str(), &here) != 0 || stat("/dev/shm", &there) != 0 ||
      here.st_dev == there.st_dev) {
    GTEST_SKIP() << "/dev/shm is no file system of its own here";
  }
  const std::string from = "/dev/shm/weir-handover-test-" + std::to_string(getpid()) + ".run";
  const std::string content(3 << 20, 'r');
  Put(from, content);
  const std::string to = dir_ + "/copied.run";
  const absl::Status status = HandOverRun(from, to);
  std::filesystem::remove(from);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(to), content);
  EXPECT_FALSE(std::filesystem::exists(to + ".partial"));
}

TEST_F(RunHandoverTest, ACopyThatTheDiskDidNotKeepDoesNotAppear) {
  const std::string from = "/proc/self/limits";  // no links
  const std::string to = dir_ + "/copied.run";
  const format::FailingClose full(to + ".partial", EDQUOT);
  const absl::Status status = HandOverRun(from, to);
  EXPECT_TRUE(IsDiskFull(status)) << status;
  EXPECT_EQ(full.count(), 1);
  EXPECT_FALSE(std::filesystem::exists(to));
  EXPECT_FALSE(std::filesystem::exists(to + ".partial"));
}

TEST_F(RunHandoverTest, CopiesFromAFileSystemThatCannotSendFiles) {
  const std::string from = "/proc/self/limits";  // no links, no sendfile
  const std::string to = dir_ + "/copied.run";
  const absl::Status status = HandOverRun(from, to);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(to), ContentOf(from));
  EXPECT_THAT(ContentOf(to), testing::HasSubstr("Max open files"));
}

TEST_F(RunHandoverTest, NamesBothPathsWhenTheSourceIsGone) {
  const absl::Status status = HandOverRun(dir_ + "/gone.run", dir_ + "/to.run");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("/gone.run"), testing::HasSubstr("/to.run")));
}

}  // namespace
}  // namespace weir::env
