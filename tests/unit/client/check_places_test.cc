// What commands that write pictures refuse to replace.

#include "runtime/client/check_places.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "runtime/base/job_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "tests/unit/client/scripted_master_test_base.h"

namespace weir::client {
namespace {

class CheckPlacesTest : public ScriptedMasterTest {
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

TEST_F(CheckPlacesTest, ADashIsNoFile) {
  for (const PictureOptions& pictures :
       {PictureOptions{.gantt = "-", .trace = ""}, PictureOptions{.gantt = "", .trace = "-"},
        PictureOptions{.gantt = "-", .trace = "-"}}) {
    EXPECT_NE(MessageOf(pictures).find(" -: it is no file; name /dev/stdout"), std::string::npos);
  }
  EXPECT_EQ(MessageOf({.gantt = "./-", .trace = "/dev/stdout"}), "");
  EXPECT_FALSE(CheckWritesApart({{"--gantt", ""}, {"--plan", "-"}}, {}, host_).ok());
  job_.inputs = {"text"};
  job_.output = "-";
  EXPECT_EQ(JobErrorFromStatus(CheckPlaces(job_)).advice(),
            "name a directory to make; one of this name is ./-");
}

TEST_F(CheckPlacesTest, PicturesStayOutOfTheOutput) {
  job_.output = "out/";
  EXPECT_NE(MessageOf({.gantt = "", .trace = "out"}).find("--trace " + dir_ + "/out: it is in"),
            std::string::npos);
  std::filesystem::create_directories(dir_ + "/out/_weir");
  std::filesystem::create_directory_symlink("out", dir_ + "/way");
  Put("out/part-00000", "a\t1\n");
  for (const char* name : {"out/part-00000", "out/new.svg", "./out/.new.svg", "way/part-00000"}) {
    EXPECT_NE(MessageOf({.gantt = name, .trace = ""}).find("in the output"), std::string::npos)
        << name;
  }
  EXPECT_EQ(MessageOf({.gantt = "out/_weir/new.svg", .trace = "out.json"}), "");
}

TEST_F(CheckPlacesTest, PicturesOfAJobThatRanReplaceNoneOfItsFiles) {
  Put("in.txt", "a");
  std::filesystem::create_directory(dir_ + "/out");
  Put("out/part-00000", "a\t1\n");
  v1::JobStatus status = InState(v1::JOB_STATE_SUCCEEDED);
  status.mutable_spec()->add_inputs(dir_ + "/in.txt");
  status.mutable_spec()->set_output(dir_ + "/out");
  master_.statuses = {status};
  ExplainOptions options;
  options.job_id = "j-1";
  for (const char* name : {"in.txt", "out/part-00000"}) {
    err_.str("");
    options.pictures = {.gantt = "new.svg", .trace = name};
    EXPECT_EQ(Explain(options, host_), kExitUsage);
    EXPECT_NE(err_.str().find("--trace " + dir_ + "/" + name + ": it is "), std::string::npos)
        << err_.str();
  }
  err_.str("");
  options.pictures = {.gantt = "new.svg", .trace = "new.json"};
  EXPECT_NE(Explain(options, host_), kExitOk) << "this master knows no plan";
  EXPECT_EQ(err_.str().find("name another file"), std::string::npos) << err_.str();
}

}  // namespace
}  // namespace weir::client
