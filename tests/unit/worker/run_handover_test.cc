#include "runtime/worker/run_handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path) << content;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RunHandoverTest, LinksWithinAFileSystem) {
  ScratchDirectory scratch;
  const std::string from = scratch.path() + "/3.1.run";
  const std::string to = scratch.path() + "/linked.run";
  WriteFile(from, "bytes");
  ASSERT_TRUE(HandOverRun(from, to).ok());
  EXPECT_TRUE(std::filesystem::equivalent(from, to));
  EXPECT_TRUE(HandOverRun(from, to).ok()) << "again is no error";
}

TEST(RunHandoverTest, OutlivesItsProducer) {
  ScratchDirectory scratch;
  const std::string from = scratch.path() + "/3.1.run";
  const std::string to = scratch.path() + "/linked.run";
  WriteFile(from, "bytes");
  ASSERT_TRUE(HandOverRun(from, to).ok());
  std::filesystem::remove(from);
  EXPECT_EQ(ReadFile(to), "bytes");
}

TEST(RunHandoverTest, CopiesAcrossFileSystems) {
  ScratchDirectory scratch;
  struct stat here {};
  struct stat there {};
  if (stat(scratch.path().c_str(), &here) != 0 || stat("/dev/shm", &there) != 0 ||
      here.st_dev == there.st_dev) {
    GTEST_SKIP() << "/dev/shm is no file system of its own here";
  }
  const std::string from = "/dev/shm/weir-handover-test-" + std::to_string(getpid()) + ".run";
  const std::string content(3 << 20, 'r');
  WriteFile(from, content);
  const std::string to = scratch.path() + "/copied.run";
  const absl::Status status = HandOverRun(from, to);
  std::filesystem::remove(from);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ReadFile(to), content);
  EXPECT_FALSE(std::filesystem::exists(to + ".partial"));
}

TEST(RunHandoverTest, NamesBothPathsWhenTheSourceIsGone) {
  ScratchDirectory scratch;
  const absl::Status status = HandOverRun(scratch.path() + "/gone.run", scratch.path() + "/to.run");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("/gone.run"), testing::HasSubstr("/to.run")));
}

}  // namespace
}  // namespace weir::worker
