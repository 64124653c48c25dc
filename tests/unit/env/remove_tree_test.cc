#include "runtime/env/real/remove_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace
}  // namespace weir::env
