// `weir hadoop fs`: -cp, -mv and -getmerge.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/client/hadoop/hadoop_files.h"
#include "runtime/client/hadoop/hadoop_places.h"
#include "tests/unit/client/command_host_test_base.h"

namespace weir::client {
namespace {

namespace fs = std::filesystem;

class HadoopCopiesTest : public CommandHostTest {
 protected:
  HadoopCopiesTest() : places_(dir_ + "/hdfs", "alice") {
    fs::create_directories(dir_ + "/hdfs/a");
    fs::create_directories(dir_ + "/hdfs/b");
  }
  // Exit code; what was said of errors is in wrong_.
  int Fs(const std::vector<std::string>& words) {
    out_.str("");
    err_.str("");
    const int code = RunHadoopFiles(words, places_, host_);
    EXPECT_EQ(out_.str(), "");
    wrong_ = err_.str();
    return code;
  }
  std::string Content(const std::string& name) {
    return storage_.ReadFile(dir_ + "/" + name, 1000).value_or("no file");
  }
  void PutResult() {
    fs::create_directories(dir_ + "/hdfs/out/folder");
    Put("hdfs/out/_SUCCESS", "");
    Put("hdfs/out/part-00000", "b\n");
    Put("hdfs/out/part-00001", "a");
    Put("hdfs/out/folder/file", "no part\n");
    Put("hdfs/out/manifest.json",
        R"({"schema": 1, "weir_version": "0.1.0", "job_id": "j-1", "parts": []})");
  }

  const HadoopPlaces places_;
  std::string wrong_;
};

TEST_F(HadoopCopiesTest, WhatIsMovedHasAnotherName) {
  Put("hdfs/a/x", "x\n");
  Put("hdfs/a/y", "y\n");
  EXPECT_EQ(Fs({"-mv", "hdfs:///a/x", "/a/z"}), 0) << wrong_;
  EXPECT_EQ(Content("hdfs/a/z"), "x\n");
  EXPECT_FALSE(fs::exists(dir_ + "/hdfs/a/x"));
  EXPECT_EQ(Fs({"-mv", "/a/*", "/b"}), 0) << wrong_;
  EXPECT_EQ(Content("hdfs/b/y"), "y\n");
  EXPECT_TRUE(fs::is_empty(dir_ + "/hdfs/a"));
  EXPECT_EQ(Fs({"-mv", "/b", "/a"}), 0) << "into the folder: " << wrong_;
  EXPECT_EQ(Content("hdfs/a/b/z"), "x\n");
  EXPECT_FALSE(fs::exists(dir_ + "/hdfs/b"));
}

TEST_F(HadoopCopiesTest, AMoveReplacesAndLosesNothing) {
  Put("hdfs/a/x", "x\n");
  Put("hdfs/b/x", "other\n");
  EXPECT_EQ(Fs({"-mv", "/a/x", "/b/x"}), 1);
  EXPECT_EQ(wrong_, "mv: `/b/x': File exists\n");
  EXPECT_EQ(Fs({"-mv", "/a/x", "/b"}), 1);
  EXPECT_EQ(wrong_, "mv: `/b/x': File exists\n");
  EXPECT_EQ(Fs({"-mv", "/none", "/b"}), 1);
  EXPECT_EQ(wrong_, "mv: `/none': No such file or directory\n");
  EXPECT_EQ(Fs({"-mv", "/a/x", "/no/such/x"}), 1);
  EXPECT_EQ(wrong_, "mv: `/no/such/x': No such file or directory\n");
  EXPECT_EQ(Fs({"-mv", "/none", "/a/x", "/new"}), 1);
  EXPECT_EQ(wrong_, "mv: `/new': No such file or directory\n");
  EXPECT_EQ(Fs({"-mv", "/a", "/b", "/b/x"}), 1);
  EXPECT_EQ(wrong_, "mv: `/b/x': Is not a directory\n");
  EXPECT_EQ(Fs({"-mv", "/a", "/a"}), 1);
  EXPECT_EQ(wrong_, "mv: `/a': would be moved into itself, to /a/a\n");
  EXPECT_EQ(Fs({"-mv", "/", "/a"}), 1);
  EXPECT_EQ(Fs({"-mv", "file://" + dir_ + "/hdfs/a", "/b"}), 1);
  EXPECT_EQ(wrong_, "mv: `file://" + dir_ + "/hdfs/a': Does not match target filesystem\n");
  EXPECT_EQ(Fs({"-mv", "/a"}), 1);
  EXPECT_EQ(wrong_, "mv: Not enough arguments\n");
  EXPECT_EQ(Content("hdfs/a/x"), "x\n");
  EXPECT_EQ(Content("hdfs/b/x"), "other\n");
}

TEST_F(HadoopCopiesTest, AResultThatIsMovedStaysOneAndACopyIsFiles) {
  PutResult();
  EXPECT_EQ(Fs({"-cp", "/out", "/copy"}), 0) << wrong_;
  EXPECT_EQ(Content("hdfs/copy/part-00000"), "b\n");
  EXPECT_EQ(Content("hdfs/copy/folder/file"), "no part\n");
  EXPECT_FALSE(fs::exists(dir_ + "/hdfs/copy/manifest.json"));
  EXPECT_EQ(Fs({"-mv", "/out", "/moved"}), 0) << wrong_;
  EXPECT_TRUE(fs::exists(dir_ + "/hdfs/moved/manifest.json"));
  EXPECT_FALSE(fs::exists(dir_ + "/hdfs/out"));
}

TEST_F(HadoopCopiesTest, ACopyLeavesWhatItIsMadeOf) {
  Put("hdfs/a/x", "x\n");
  Put("mine", "mine\n");
  EXPECT_EQ(Fs({"-cp", "/a/x", "hdfs:///b/y"}), 0) << wrong_;
  EXPECT_EQ(Content("hdfs/a/x"), "x\n");
  EXPECT_EQ(Content("hdfs/b/y"), "x\n");
  EXPECT_EQ(Fs({"-cp", "file://" + dir_ + "/mine", "/a/x", "/b"}), 0) << wrong_;
  EXPECT_EQ(Content("hdfs/b/mine"), "mine\n");
  EXPECT_EQ(Content("hdfs/b/x"), "x\n");
  EXPECT_EQ(Fs({"-cp", "/b/mine", "/b/y"}), 1);
  EXPECT_EQ(wrong_, "cp: `/b/y': File exists\n");
  EXPECT_EQ(Fs({"-cp", "-f", "/b/mine", "/b/y"}), 0) << wrong_;
  EXPECT_EQ(Content("hdfs/b/y"), "mine\n");
  EXPECT_EQ(Fs({"-cp", "-f", "/b/y", "/b/y"}), 0) << wrong_;
  EXPECT_EQ(Content("hdfs/b/y"), "mine\n");
  EXPECT_EQ(Fs({"-cp", "/a", "/a/x/.."}), 1);
  EXPECT_EQ(wrong_, "cp: `/a': would be copied into itself, to /a/x/../a\n");
  EXPECT_EQ(Fs({"-cp", "/none", "/b"}), 1);
  EXPECT_EQ(wrong_, "cp: `/none': No such file or directory\n");
}

TEST_F(HadoopCopiesTest, FilesOfAFolderAreJoinedByName) {
  PutResult();
  EXPECT_EQ(Fs({"-getmerge", "hdfs:///out", "all"}), 0) << wrong_;
  EXPECT_EQ(Content("all"), "b\na");
  EXPECT_EQ(Fs({"-getmerge", "-nl", "/out", "all"}), 0) << "takes the place of one: " << wrong_;
  EXPECT_EQ(Content("all"), "\nb\n\na\n") << "_SUCCESS is a file, too";
  EXPECT_EQ(Fs({"-getmerge", "-nl", "-skip-empty-file", "/out", "all"}), 0) << wrong_;
  EXPECT_EQ(Content("all"), "b\n\na\n");
  EXPECT_EQ(Fs({"-getmerge", "/out/part-00001", "/out/part-00000", "new/deep/all"}), 0) << wrong_;
  EXPECT_EQ(Content("new/deep/all"), "ab\n") << "files as they are named";
  EXPECT_EQ(Fs({"-getmerge", "/out/folder", "/b", "file://" + dir_ + "/all"}), 0) << wrong_;
  EXPECT_EQ(Content("all"), "no part\n");
  fs::create_symlink("all", dir_ + "/link");
  EXPECT_EQ(Fs({"-getmerge", "/out/part-00000", "link"}), 0) << wrong_;
  EXPECT_TRUE(fs::is_symlink(dir_ + "/link"));
  EXPECT_EQ(Content("all"), "b\n");
}

TEST_F(HadoopCopiesTest, NothingIsJoinedWhereAFileIsMissing) {
  PutResult();
  Put("kept", "old");
  EXPECT_EQ(Fs({"-getmerge", "/out", "/none", "kept"}), 1);
  EXPECT_EQ(wrong_, "getmerge: `/none': No such file or directory\n");
  EXPECT_EQ(Fs({"-getmerge", "/out", "hdfs"}), 1);
  EXPECT_EQ(wrong_, "getmerge: `hdfs': Is a directory\n");
  fs::create_symlink("nowhere", dir_ + "/hdfs/out/part-00002");
  EXPECT_EQ(Fs({"-getmerge", "/out", "kept"}), 1);
  EXPECT_TRUE(wrong_.starts_with("getmerge: `/out/part-00002': ")) << wrong_;
  EXPECT_EQ(Content("kept"), "old");
  EXPECT_FALSE(fs::exists(dir_ + "/_kept._COPYING_"));
}

}  // namespace
}  // namespace weir::client
