// What commands that write pictures refuse to replace.

#include "runtime/client/check_places.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/unit/client/command_host_test_base.h"

namespace weir::client {
namespace {

class CheckPlacesTest : public CommandHostTest {
 protected:
  std::string MessageOf(const PictureOptions& pictures) {
    const absl::Status checked = CheckPictures(pictures, job_, host_);
    EXPECT_TRUE(checked.ok() || absl::IsInvalidArgument(checked)) << checked;
    return std::string(checked.message());
  }

  JobOptions job_;
};

TEST_F(CheckPlacesTest, PicturesDoNotReplaceWhatTheJobIsGiven) {
  Put("plan.json", "{}");
  Put("job.so", "module");
  Put("table.txt", "table");
  std::filesystem::create_hard_link(dir_ + "/plan.json", dir_ + "/linked.json");
  std::filesystem::create_symlink("plan.json", dir_ + "/link.json");
  job_.plan_file = "plan.json";
  job_.module = dir_ + "/job.so";
  job_.files = {{.path = "table.txt", .name = "t"}};
  for (const char* name : {"plan.json", "./plan.json", "linked.json", "link.json"}) {
    EXPECT_NE(MessageOf({.gantt = name, .trace = ""}).find("the file of --plan-file"),
              std::string::npos)
        << name;
  }
  EXPECT_NE(MessageOf({.gantt = "new.svg", .trace = "job.so"}).find("--trace " + dir_ + "/job.so"),
            std::string::npos);
  EXPECT_NE(MessageOf({.gantt = "table.txt", .trace = ""}).find("a file of the job"),
            std::string::npos);
  EXPECT_EQ(MessageOf({.gantt = "new.svg", .trace = "new.json"}), "");
}

TEST_F(CheckPlacesTest, TwoPicturesNeedTwoFiles) {
  Put("old.svg", "");
  EXPECT_NE(MessageOf({.gantt = "new.svg", .trace = "./new.svg"}).find("--gantt and --trace name"),
            std::string::npos);
  EXPECT_NE(MessageOf({.gantt = "old.svg", .trace = "old.svg"}).find("--gantt and --trace name"),
            std::string::npos);
  EXPECT_EQ(MessageOf({.gantt = "/dev/null", .trace = "/dev/null"}), "");
}

}  // namespace
}  // namespace weir::client
