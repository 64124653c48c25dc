#include "runtime/base/shell_path.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ShellPath, LeavesAloneWhatNoShellChanges) {
  for (const char* path : {"a", "/data/part-00000", "../x_1.txt", "a+b,c:d@e%f=g"}) {
    EXPECT_EQ(ShellPath(path), path);
  }
}

TEST(ShellPath, QuotesTheRest) {
  EXPECT_EQ(ShellPath("my data"), "'my data'");
  EXPECT_EQ(ShellPath("~/x"), "'~/x'");
  EXPECT_EQ(ShellPath("$HOME; rm *"), "'$HOME; rm *'");
  EXPECT_EQ(ShellPath("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellPath("a\nb"), "'a\nb'");
  EXPECT_EQ(ShellPath("\xc3\xa4"), "'\xc3\xa4'");
  EXPECT_EQ(ShellPath(""), "''");
}

TEST(ShellPath, IsNoFlag) {
  EXPECT_EQ(ShellPath("-x"), "./-x");
  EXPECT_EQ(ShellPath("-a b"), "'./-a b'");
}

}  // namespace
}  // namespace weir
