#include "runtime/env/real/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "runtime/base/fd.h"

namespace weir::env {
namespace {

// As a user whom modes hold back, which they do not root.
class RemoveTreeTest : public testing::Test {
 protected:
  RemoveTreeTest() {
    char name[] = "/tmp/weir-tree-XXXXXX";
    dir_ = mkdtemp(name);
    tree_ = dir_ + "/tree";
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0) {
      EXPECT_EQ(chown(dir_.c_str(), kNobody, kNobody), 0);
      EXPECT_EQ(setegid(kNobody), 0);
      EXPECT_EQ(seteuid(kNobody), 0);
    }
    std::filesystem::create_directory(tree_);
  }
  ~RemoveTreeTest() override {
    EXPECT_EQ(seteuid(getuid()), 0);
    EXPECT_EQ(setegid(getgid()), 0);
    [[maybe_unused]] const int cleared = system(("chmod -R u+rwx " + dir_).c_str());
    std::filesystem::remove_all(dir_);
  }

  std::string dir_;
  std::string tree_;
};

TEST_F(RemoveTreeTest, WhatItsUserHasClosedGoesToo) {
  for (const mode_t mode : {0555, 0500, 0300, 0600, 0400, 0200, 0100, 0000}) {
    const std::string closed = tree_ + "/closed";
    std::filesystem::create_directories(closed + "/inside");
    std::ofstream(closed + "/file") << "x";
    std::ofstream(closed + "/inside/file") << "x";
    ASSERT_EQ(chmod((closed + "/inside").c_str(), mode), 0);
    ASSERT_EQ(chmod(closed.c_str(), mode), 0);
    const absl::Status removed = RemoveTree(closed);
    EXPECT_TRUE(removed.ok()) << std::oct << mode << ": " << removed;
    EXPECT_FALSE(std::filesystem::exists(closed)) << std::oct << mode;
  }
}

TEST_F(RemoveTreeTest, WhatIsNotItsUsersToOpenIsNamed) {
  if (getuid() != 0) GTEST_SKIP() << "only root may give a directory away";
  const std::string foreign = tree_ + "/foreign";
  std::filesystem::create_directory(foreign);
  std::ofstream(foreign + "/file") << "x";
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(chown(foreign.c_str(), 0, 0), 0);
  ASSERT_EQ(seteuid(65534), 0);
  const absl::Status removed = RemoveTree(tree_);
  EXPECT_TRUE(absl::IsPermissionDenied(removed)) << removed;
  EXPECT_NE(removed.message().find(foreign), std::string::npos) << removed;
}

TEST_F(RemoveTreeTest, WhatLinksLeadToStaysAsItIs) {
  const std::string outside = dir_ + "/outside";
  std::filesystem::create_directory(outside);
  std::ofstream(outside + "/file") << "x";
  ASSERT_EQ(chmod(outside.c_str(), 0500), 0);
  std::filesystem::create_directory_symlink(outside, tree_ + "/link");
  EXPECT_TRUE(RemoveTree(tree_).ok());
  EXPECT_FALSE(std::filesystem::exists(tree_));
  struct stat st {};
  ASSERT_EQ(stat(outside.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0500u);
  EXPECT_TRUE(std::filesystem::exists(outside + "/file"));
}

// A directory in a directory, so many times, with a file in each; closed ones are read-only.
void MakeChain(const std::string& top, int levels, bool closed) {
  constexpr char kName[] = "-";  // comes before those that the removal makes
  Fd directory(open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(mkdirat(directory.get(), kName, 0700), 0);
    const Fd file(openat(directory.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    Fd next(openat(directory.get(), kName, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(file.valid() && next.valid());
    ASSERT_EQ(fchmod(directory.get(), closed ? 0500 : 0700), 0);
    directory = std::move(next);
  }
}

// Fewer descriptors than levels.
class FewDescriptors {
 public:
  FewDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few = {200, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_ = {};
};

TEST_F(RemoveTreeTest, HoweverDeepATreeIsItGoes) {
  for (const bool closed : {false, true}) {
    const std::string top = tree_ + "/top";
    std::filesystem::create_directory(top);
    // Numbers that are taken.
    std::filesystem::create_directories(top + "/.weir-removed-2/inside");
    std::ofstream(top + "/.weir-removed-3") << "x";
    MakeChain(top, 3000, closed);
    const FewDescriptors few;
    const absl::Status removed = RemoveTree(top);
    EXPECT_TRUE(removed.ok()) << removed;
    EXPECT_FALSE(std::filesystem::exists(top));
  }
}

TEST_F(RemoveTreeTest, MessagesOfLongPathsAreShort) {
  if (getuid() != 0) GTEST_SKIP() << "only root may give a directory away";
  std::string deep = tree_;
  for (int i = 0; i < 50; ++i) deep += "/directory";
  std::filesystem::create_directories(deep);
  std::ofstream(deep + "/file") << "x";
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(chown(deep.c_str(), 0, 0), 0);
  ASSERT_EQ(seteuid(65534), 0);
  const absl::Status removed = RemoveTree(tree_);
  EXPECT_TRUE(absl::IsPermissionDenied(removed)) << removed;
  EXPECT_LT(removed.message().size(), 300u) << removed;
  EXPECT_NE(removed.message().find(tree_), std::string::npos) << removed;
  EXPECT_NE(removed.message().find("/directory/file: "), std::string::npos) << removed;
}

}  // namespace
}  // namespace weir::env
