#include "runtime/env/real/run_handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

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

  // /dev/shm, beside that of the test's directory.
  bool HasAnotherFileSystem() const {
    struct stat here {};
    struct stat there {};
    return stat(dir_.c_str(), &here) == 0 && stat("/dev/shm", &there) == 0 &&
           here.st_dev != there.st_dev;
  }
  int NumFiles() const {
    const std::filesystem::directory_iterator files(dir_);
    return static_cast<int>(std::distance(begin(files), end(files)));
  }
  std::uintmax_t BytesOfFiles() const {
    std::uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(dir_)) bytes += file.file_size();
    return bytes;
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
  if (!HasAnotherFileSystem()) GTEST_SKIP() << "/dev/shm is no file system of its own here";
  const std::string from = "/dev/shm/weir-handover-test-" + std::to_string(getpid()) + ".run";
  const std::string content(3 << 20, 'r');
  Put(from, content);
  const std::string to = dir_ + "/copied.run";
  const absl::Status status = HandOverRun(from, to);
  std::filesystem::remove(from);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(to), content);
  EXPECT_EQ(NumFiles(), 1) << "no half of it";
}

// As of one run for two reducers of a worker, which fetch at once.
TEST_F(RunHandoverTest, TwoCopiesAtOnceAreBothWhole) {
  if (!HasAnotherFileSystem()) GTEST_SKIP() << "/dev/shm is no file system of its own here";
  const std::string slow = "/dev/shm/weir-handover-test-" + std::to_string(getpid()) + ".pipe";
  const std::string fast = "/dev/shm/weir-handover-test-" + std::to_string(getpid()) + ".run";
  const std::string to = dir_ + "/copied.run";
  ASSERT_EQ(mkfifo(slow.c_str(), 0600), 0);
  Put(fast, "the same run");
  absl::Status first;
  std::thread copying([&] { first = HandOverRun(slow, to); });
  {
    std::ofstream source(slow);  // waits for the reader
    source << "the same" << std::flush;
    // So much of it is there.
    for (int i = 0; i < 1000 && BytesOfFiles() < 8; ++i) usleep(10'000);
    const absl::Status second = HandOverRun(fast, to);
    EXPECT_TRUE(second.ok()) << second;
    EXPECT_EQ(ContentOf(to), "the same run");
    source << " run";
  }
  copying.join();
  std::filesystem::remove(slow);
  std::filesystem::remove(fast);
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_EQ(ContentOf(to), "the same run");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(RunHandoverTest, ACopyThatTheDiskDidNotKeepDoesNotAppear) {
  const std::string from = "/proc/self/limits";  // no links
  const std::string to = dir_ + "/copied.run";
  const format::FailingClose full(to + ".partial-" + std::to_string(gettid()), EDQUOT);
  const absl::Status status = HandOverRun(from, to);
  EXPECT_TRUE(IsDiskFull(status)) << status;
  EXPECT_EQ(full.count(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
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
