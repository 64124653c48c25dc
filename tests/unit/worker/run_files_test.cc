#include "runtime/worker/run_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::worker {
namespace {

TEST(RunFilesTest, GivesBackTheFilesOfARunOnce) {
  RunFiles files;
  files.Add("1.1", "/runs/1.1.run");
  files.Add("2.1", "/received/2.1.512");
  files.Add("2.1", "/received/2.1.0");
  files.Add("2.1", "/received/2.1.0");  // two reducers of one worker read it
  EXPECT_EQ(files.Take("2.1"), (std::vector<std::string>{"/received/2.1.0", "/received/2.1.512"}));
  EXPECT_TRUE(files.Take("2.1").empty());
  EXPECT_TRUE(files.Take("1.2").empty()) << "another attempt has files of its own";
  EXPECT_EQ(files.Take("1.1"), (std::vector<std::string>{"/runs/1.1.run"}));
}

}  // namespace
}  // namespace weir::worker
