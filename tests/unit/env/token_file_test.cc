#include "runtime/env/real/token_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/errno_status.h"

namespace weir::env {
namespace {

class TokenFileTest : public ::testing::Test {
 protected:
  TokenFileTest() {
    char name[] = "/tmp/weir-token-XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ + "/state/weir/token";
  }
  ~TokenFileTest() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
  std::string path_;
};

TEST_F(TokenFileTest, IsMadeOnceForItsUserAlone) {
  EXPECT_TRUE(absl::IsNotFound(ReadTokenFile(path_, false).status()));
  ASSERT_TRUE(MakeTokenFile(path_).ok());
  const auto token = ReadTokenFile(path_, false);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->size(), 64u);
  struct stat st {};
  ASSERT_EQ(::stat(path_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  ASSERT_TRUE(MakeTokenFile(path_).ok());
  EXPECT_EQ(*ReadTokenFile(path_, false), *token) << "one that is there stays";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_ + "/state/weir"), {}), 1);
  ASSERT_TRUE(MakeTokenFile(directory_ + "/other").ok());
  EXPECT_NE(*ReadTokenFile(directory_ + "/other", false), *token);
}

TEST_F(TokenFileTest, WhatAKilledProcessOfTheSameNumberLeftIsNotInTheWay) {
  std::filesystem::create_directories(directory_ + "/state/weir");
  std::ofstream(path_ + "." + std::to_string(::getpid())) << "half";
  const absl::Status made = MakeTokenFile(path_);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_TRUE(ReadTokenFile(path_, false).ok());
}

TEST_F(TokenFileTest, WhyItsDirectoryCannotBeMadeIsSaid) {
  // Nobody makes directories there, as on a file system that is mounted read-only.
  const std::string fixed = "/sys/weir-token-test";
  if (!std::filesystem::is_directory("/sys")) GTEST_SKIP() << "no /sys on this machine";
  const absl::Status made = MakeTokenFile(fixed + "/weir/token");
  ASSERT_FALSE(made.ok());
  EXPECT_TRUE(absl::IsPermissionDenied(made)) << made;
  EXPECT_FALSE(absl::StrContains(made.message(), "No such file")) << made;
}

TEST_F(TokenFileTest, WhyOnlyAPartOfItWasWrittenIsSaid) {
  std::filesystem::create_directories(directory_ + "/state/weir");
  // The limit on file size stands for a disk that is full behind some bytes.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight = {10, before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const absl::Status made = MakeTokenFile(path_);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(ErrnoOf(made), EFBIG) << made;
  EXPECT_TRUE(std::filesystem::is_empty(directory_ + "/state/weir"));
}

TEST_F(TokenFileTest, OneThatOthersCanUseIsRefused) {
  ASSERT_TRUE(MakeTokenFile(path_).ok());
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0644}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    const absl::Status status = ReadTokenFile(path_, false).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << mode << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "chmod 600 " + path_)) << status;
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  EXPECT_TRUE(ReadTokenFile(path_, true).ok()) << "shared with a group";
  ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadTokenFile(path_, true).status()));
}

TEST_F(TokenFileTest, SomebodyElsesIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_TRUE(MakeTokenFile(path_).ok());
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadTokenFile(path_, false).status()));
  EXPECT_TRUE(ReadTokenFile(path_, true).ok());
}

TEST_F(TokenFileTest, IsFoundWhereItsUserKeepsIt) {
  const char* const before = std::getenv("XDG_STATE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_STATE_HOME", (directory_ + "/state").c_str(), 1);
  EXPECT_EQ(FindToken("").value(), "") << "none is no error";
  const absl::Status missing = FindToken(path_).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << "unless it was chosen";
  EXPECT_TRUE(absl::StrContains(missing.message(), path_ + ": check the path")) << missing;
  ASSERT_TRUE(MakeTokenFile(path_).ok());
  EXPECT_EQ(FindToken("").value(), ReadTokenFile(path_, false).value());
  ASSERT_TRUE(MakeTokenFile(directory_ + "/other").ok());
  EXPECT_EQ(FindToken(directory_ + "/other").value(),
            ReadTokenFile(directory_ + "/other", true).value());
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(FindToken("").status())) << "one's own is nobody else's";
  if (before == nullptr) {
    ::unsetenv("XDG_STATE_HOME");
  } else {
    ::setenv("XDG_STATE_HOME", kept.c_str(), 1);
  }
}

TEST_F(TokenFileTest, WhatIsNoTokenIsRefused) {
  std::filesystem::create_directories(path_);
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadTokenFile(path_, false).status())) << "a directory";
  for (const std::string& text : {std::string(), std::string("short\n"), std::string(300, 'x'),
                                  std::string(64, '\x01'), std::string(40, 'a') + " " + "b"}) {
    const std::string file = directory_ + "/file";
    std::ofstream(file, std::ios::trunc) << text;
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    EXPECT_TRUE(absl::IsInvalidArgument(ReadTokenFile(file, false).status())) << text;
  }
}

}  // namespace
}  // namespace weir::env
