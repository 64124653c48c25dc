#include "runtime/client/project/job_project.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/project/job_templates.h"
#include "tests/unit/client/command_host_test_base.h"

namespace weir::client {
namespace {

TEST(ProjectName, TakesIdentifiers) {
  for (const char* name : {"a", "user_totals", "Sum2", "x__y_", "tests", "int"}) {
    EXPECT_EQ(CheckProjectName(name), absl::OkStatus()) << name;
  }
  EXPECT_EQ(CheckProjectName(std::string(kProjectNameBytesMax, 'a')), absl::OkStatus());
}

TEST(ProjectName, RefusesOthersAndSaysWhichIsNear) {
  const std::map<std::string, std::string> near = {{"user-totals", "weir new job user_totals"},
                                                   {"2nd", "weir new job nd"},
                                                   {"_x", "weir new job x"},
                                                   {"a b/c", "weir new job a_b_c"},
                                                   {"../up", "weir new job up"},
                                                   {"test", "test_job"},
                                                   {"install", "install_job"},
                                                   {"", "it is empty"},
                                                   {"__", "a letter first"},
                                                   {"\xc3\xa4rger", "weir new job rger"},
                                                   {std::string(65, 'a'), "more than 64 bytes"}};
  for (const auto& [name, said] : near) {
    const absl::Status status = CheckProjectName(name);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_NE(status.message().find(said), std::string::npos) << status;
  }
}

TEST(JobProject, ReplacesEveryPlaceHolder) {
  const std::vector<ProjectFile> files = JobProject("user_totals_2", "1.2.3");
  std::set<std::string> names;
  for (const ProjectFile& file : files) {
    names.insert(file.name);
    EXPECT_EQ(file.text.find("@"), std::string::npos) << file.name;
    EXPECT_TRUE(file.text.ends_with("\n")) << file.name;
    EXPECT_FALSE(file.text.ends_with("\n\n")) << file.name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"CMakeLists.txt", "README.md", "user_totals_2.cc",
                                          "user_totals_2.h", "user_totals_2_test.cc"}));
  EXPECT_EQ(files.size(), JobTemplates().size());
  for (const ProjectFile& file : files) {
    if (file.name == "CMakeLists.txt") {
      EXPECT_NE(file.text.find("find_package(weir 1.2 REQUIRED)"), std::string::npos);
    } else if (file.name == "user_totals_2.h") {
      EXPECT_NE(file.text.find("class UserTotals2Job {"), std::string::npos);
    }
  }
}

class NewJobTest : public CommandHostTest {
 protected:
  std::set<std::string> FilesIn(const std::string& folder) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/" + folder)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(NewJobTest, WritesAFolderOfTheName) {
  EXPECT_EQ(NewJob({.name = "sums", .directory = ""}, host_), kExitOk);
  EXPECT_EQ(FilesIn("sums"), (std::set<std::string>{"CMakeLists.txt", "README.md", "sums.cc",
                                                    "sums.h", "sums_test.cc"}));
  EXPECT_NE(out_.str().find("sums/sums_test.cc\n"), std::string::npos);
  EXPECT_NE(err_.str().find("cmake -S sums -B sums/build"), std::string::npos);
}

TEST_F(NewJobTest, WritesAnotherFolderWhereAsked) {
  EXPECT_EQ(NewJob({.name = "sums", .directory = dir_ + "/there"}, host_), kExitOk);
  EXPECT_TRUE(FilesIn("there").contains("sums.h"));
}

TEST_F(NewJobTest, ShowsCommandsThatAShellTakesAsTheyAre) {
  EXPECT_EQ(NewJob({.name = "sums", .directory = "my jobs"}, host_), kExitOk);
  EXPECT_NE(err_.str().find("cmake -S 'my jobs' -B 'my jobs/build' && "), std::string::npos)
      << err_.str();
  EXPECT_EQ(NewJob({.name = "sums", .directory = "a\033[2Jb"}, host_), kExitOk);
  EXPECT_EQ((out_.str() + err_.str()).find('\033'), std::string::npos) << "as a terminal obeys";
}

TEST_F(NewJobTest, LeavesWhatExistsAlone) {
  Put("sums", "a file");
  std::filesystem::create_directory(dir_ + "/empty");
  for (const char* directory : {"", "empty"}) {
    EXPECT_EQ(NewJob({.name = "sums", .directory = directory}, host_), kExitRefused);
    EXPECT_NE(err_.str().find("weir new job sums DIR"), std::string::npos);
  }
  EXPECT_EQ(std::filesystem::file_size(dir_ + "/sums"), 6U);
  EXPECT_TRUE(std::filesystem::is_empty(dir_ + "/empty"));
}

TEST_F(NewJobTest, RefusesNamesBeforeItWrites) {
  EXPECT_EQ(NewJob({.name = "user-totals", .directory = "there"}, host_), kExitUsage);
  EXPECT_NE(err_.str().find("user_totals"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

TEST_F(NewJobTest, NeedsAFolderToMakeItIn) {
  EXPECT_NE(NewJob({.name = "sums", .directory = "no/such"}, host_), kExitOk);
  EXPECT_NE(err_.str().find("no/such"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

}  // namespace
}  // namespace weir::client
