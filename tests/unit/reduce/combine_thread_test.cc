// The thread that combines, and what happens where none is to be had.

#include "runtime/reduce/combine_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::reduce {
namespace {

constexpr int kSkipped = 77;

// 0 once all work was done; else which look failed. Call in a process of its own.
int WorkWithoutThreads() {
  // Root has threads whatever the limit, so this becomes somebody else.
  constexpr uid_t kUser = 61'235;
  if (::geteuid() == 0 && ::setuid(kUser) != 0) return kSkipped;
  const rlimit one = {1, 1};
  if (::setrlimit(RLIMIT_NPROC, &one) != 0) return kSkipped;
  CombineThread thread;
  int done = 0;
  for (int piece = 1; piece <= 2; ++piece) {
    thread.Start([&done] { ++done; });
    if (!thread.busy()) return 1;
    thread.Finish();
    if (thread.busy() || done != piece) return 2;
  }
  return 0;
}

TEST(CombineThreadTest, WithoutAThreadTheCallersDoesTheWork) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(WorkWithoutThreads());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == kSkipped) {
    GTEST_SKIP()
        << "threads cannot be limited here: this process can become nobody else, or set no limit";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// A call would wait for the end of the work without end: a member that combines is not late.
TEST(CombineThreadTest, WithoutADescriptorForItsEndTheCallersDoesTheWork) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  int done = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  CombineThread thread;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (int piece = 1; piece <= 2; ++piece) {
    thread.Start([&done] { ++done; });
    ASSERT_FALSE(thread.busy());
    ASSERT_EQ(done, piece);
    thread.Finish();
  }
}

TEST(CombineThreadTest, WorkIsDoneOnceItIsTaken) {
  CombineThread thread;
  int done = 0;
  for (int piece = 1; piece <= 100; ++piece) {
    thread.Start([&done] { ++done; });
    thread.Finish();
    ASSERT_FALSE(thread.busy());
    ASSERT_EQ(done, piece);
  }
}

}  // namespace
}  // namespace weir::reduce
