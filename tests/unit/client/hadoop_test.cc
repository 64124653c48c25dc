// `weir hadoop` without a job: where hdfs:/// lies, its files, and how jobs are logged.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/command_line.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/hadoop/hadoop_files.h"
#include "runtime/client/hadoop/hadoop_job_log.h"
#include "runtime/client/hadoop/hadoop_places.h"
#include "tests/unit/client/command_host_test_base.h"

namespace weir::client {
namespace {

namespace fs = std::filesystem;

TEST(HadoopPlaces, LieBelowTheRoot) {
  const HadoopPlaces places("/root/hdfs", "alice");
  const auto local = [&places](const char* word) {
    const auto place = places.Find(word);
    return place.ok() ? place->local : "refused: " + std::string(place.status().message());
  };
  EXPECT_EQ(local("hdfs:///a/b"), "/root/hdfs/a/b");
  EXPECT_EQ(local("hdfs://node:8020/a"), "/root/hdfs/a");
  EXPECT_EQ(local("hdfs:///"), "/root/hdfs");
  EXPECT_EQ(local("hdfs://node"), "/root/hdfs");
  EXPECT_EQ(local("/a//b/./c/"), "/root/hdfs/a/b/c");
  EXPECT_EQ(local("a/b"), "/root/hdfs/user/alice/a/b");
  EXPECT_EQ(local("."), "/root/hdfs/user/alice");
  EXPECT_EQ(local("../bob/x"), "/root/hdfs/user/bob/x");
  EXPECT_EQ(local("hdfs:///a/../b"), "/root/hdfs/b");
  EXPECT_EQ(local("file:///etc/x"), "/etc/x");
  EXPECT_EQ(local("file:/etc/x"), "/etc/x");
  EXPECT_EQ(local("hdfs:///part-*"), "/root/hdfs/part-*");
  EXPECT_EQ(local("/a:b"), "/root/hdfs/a:b");
  for (const char* const wrong : {"hdfs:///..", "hdfs:///a/../../b", "/../x", "../../../x",
                                  "s3://b/k", "hdfs:a", "", "/a\nb"}) {
    EXPECT_TRUE(local(wrong).starts_with("refused: ")) << wrong;
  }
  EXPECT_EQ(places.Find("hdfs://node:8020/a")->prefix, "hdfs://node:8020");
  EXPECT_EQ(places.Find("a")->path, "/user/alice/a");
  EXPECT_EQ(HadoopPlaces("/", "a").Find("/x")->local, "/x");
}

RC_GTEST_PROP(HadoopPlacesProperty, NothingOfHdfsIsOutside, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::elementOf(std::vector<std::string>{"..", ".", "a", "", "b*", "hdfs:", "etc", "/"}));
  std::string word;
  for (const std::string& part : parts) word += part + "/";
  for (const char* const begin : {"hdfs://", "hdfs:///", "/", ""}) {
    const auto place = HadoopPlaces("/root/hdfs", "alice").Find(begin + word);
    if (!place.ok()) continue;
    RC_ASSERT(place->local == fs::path(place->local).lexically_normal());
    RC_ASSERT(place->local == "/root/hdfs" || place->local.starts_with("/root/hdfs/"));
  }
}

v1::JobStatus Running(std::int64_t mapped, std::int64_t moved) {
  v1::JobStatus status;
  status.set_job_id("j-20260131-120000-1a2b");
  status.set_state(v1::JOB_STATE_RUNNING);
  status.set_submitted_unix_ms(1'769'860'800'000);  // 2026-01-31 12:00:00
  status.mutable_progress()->set_elapsed_s(65);
  status.mutable_progress()->set_input_bytes_done(mapped);
  status.mutable_progress()->set_input_bytes_total(200);
  status.mutable_progress()->set_shuffle_bytes_done(moved);
  status.mutable_progress()->set_shuffle_bytes_total(1000);
  return status;
}

TEST(HadoopJobLog, SaysWhatHadoopSays) {
  EXPECT_EQ(HadoopJobId("j-20260131-120000-1a2b"), "job_20260131120000_6699");
  EXPECT_EQ(HadoopJobId("j-20260131-120000-ffff"), "job_20260131120000_5535");
  EXPECT_EQ(HadoopJobId("odd"), "job_0_0000");
  std::ostringstream out;
  HadoopJobLog log(out, "hdfs:///out");
  v1::JobStatus status = Running(0, 0);
  status.set_state(v1::JOB_STATE_QUEUED);
  log.Show(status);
  EXPECT_EQ(out.str(), "");
  log.Show(Running(0, 0));
  log.Show(Running(50, 0));
  log.Show(Running(50, 0));
  log.Show(Running(200, 999));
  status = Running(200, 1000);
  status.set_state(v1::JOB_STATE_SUCCEEDED);
  auto& counter = *status.add_counters();
  counter.set_name("My group,lines, and more");
  counter.set_value(7);
  status.add_counters()->set_name("bad_records");
  auto& part = *status.add_parts();
  part.set_bytes(33);
  part.set_records(3);
  log.Show(status);
  const std::string time = "26/01/31 12:01:05 INFO ";
  EXPECT_EQ(
      out.str(),
      time + "mapreduce.Job: Running job: job_20260131120000_6699\n" + time +
          "mapreduce.Job: Job job_20260131120000_6699 is j-20260131-120000-1a2b of Weir (weir "
          "logs, weir explain)\n" +
          time + "mapreduce.Job:  map 0% reduce 0%\n" + time +
          "mapreduce.Job:  map 25% reduce 0%\n" + time + "mapreduce.Job:  map 100% reduce 33%\n" +
          time + "mapreduce.Job:  map 100% reduce 100%\n" + time +
          "mapreduce.Job: Job job_20260131120000_6699 completed successfully\n" + time +
          "mapreduce.Job: Counters: 5\n"
          "\tFile Input Format Counters \n\t\tBytes Read=200\n"
          "\tFile Output Format Counters \n\t\tBytes Written=33\n"
          "\tMap-Reduce Framework\n\t\tOutput records=3\n"
          "\tMy group\n\t\tlines, and more=7\n"
          "\tWeir\n\t\tbad_records=0\n" +
          time + "streaming.StreamJob: Output directory: hdfs:///out\n");
}

TEST(HadoopJobLog, NamesTheTaskThatFailed) {
  std::ostringstream out;
  HadoopJobLog log(out, "hdfs:///out");
  v1::JobStatus status = Running(10, 0);
  status.set_state(v1::JOB_STATE_FAILED);
  status.mutable_error()->set_step("reduce 2");
  log.Show(status);
  EXPECT_NE(out.str().find("Task Id : attempt_20260131120000_6699_r_000000_0, Status : FAILED\n"),
            std::string::npos)
      << out.str();
}

class HadoopFiles : public CommandHostTest {
 protected:
  HadoopFiles() : places_(dir_ + "/hdfs", "alice") {}

  // Exit code; what was said is in said_ and wrong_.
  int Fs(const std::vector<std::string>& words) {
    out_.str("");
    err_.str("");
    const int code = RunHadoopFiles(words, places_, host_);
    said_ = out_.str();
    wrong_ = err_.str();
    return code;
  }
  std::string Content(const std::string& name) {
    return storage_.ReadFile(dir_ + "/" + name, 1000).value_or("no file");
  }

  const HadoopPlaces places_;
  std::string said_, wrong_;
};

TEST_F(HadoopFiles, AreMadeListedReadAndRemoved) {
  Put("local", "hello\n");
  EXPECT_EQ(Fs({"-mkdir", "-p", "hdfs:///a/b", "rel"}), 0);
  EXPECT_EQ(Fs({"-mkdir", "-p", "hdfs:///a/b"}), 0) << "again";
  EXPECT_EQ(Fs({"-mkdir", "hdfs:///a/b"}), 1);
  EXPECT_EQ(wrong_, "mkdir: `hdfs:///a/b': File exists\n");
  EXPECT_TRUE(fs::is_directory(dir_ + "/hdfs/user/alice/rel"));
  EXPECT_EQ(Fs({"-put", "local", "hdfs:///a/b/x"}), 0);
  EXPECT_EQ(Fs({"-put", "file://" + dir_ + "/local", "hdfs:///a/b/x"}), 1);
  EXPECT_EQ(wrong_, "put: `hdfs:///a/b/x': File exists\n");
  Put("local", "hello you\n");
  EXPECT_EQ(Fs({"-put", "-f", "local", "hdfs:///a/b/x"}), 0);
  EXPECT_EQ(Fs({"-put", "local", "hdfs:///a"}), 0) << "into the folder";
  EXPECT_EQ(Fs({"-put", "local", "hdfs:///no/such/x"}), 1);
  EXPECT_EQ(Content("hdfs/a/b/x"), "hello you\n");
  EXPECT_EQ(Fs({"-cat", "hdfs:///a/b/x", "/a/loc*"}), 0);
  EXPECT_EQ(said_, "hello you\nhello you\n");
  EXPECT_EQ(Fs({"-du", "/a"}), 0);
  EXPECT_EQ(said_, "10  10  /a/b\n10  10  /a/local\n");
  EXPECT_EQ(Fs({"-du", "-s", "hdfs:///a"}), 0);
  EXPECT_EQ(said_, "20  20  hdfs:///a\n");
  EXPECT_EQ(Fs({"-touchz", "/a/empty"}), 0);
  EXPECT_EQ(Fs({"-touchz", "/a/empty"}), 0);
  EXPECT_EQ(Fs({"-touchz", "/a/local"}), 1);
  EXPECT_EQ(Fs({"-test", "-z", "/a/empty"}), 0);
  EXPECT_EQ(Fs({"-test", "-d", "/a/empty"}), 1);
  EXPECT_EQ(Fs({"-test", "-e", "/a/none"}), 1);
  EXPECT_EQ(Fs({"-copyToLocal", "hdfs:///a/b", "copy"}), 0);
  EXPECT_EQ(Content("copy/x"), "hello you\n");
  EXPECT_EQ(Fs({"-get", "/a/b/x", "/a/empty", "copy"}), 1) << "x is there";
  EXPECT_TRUE(fs::exists(dir_ + "/copy/empty"));
  EXPECT_EQ(Fs({"-rm", "/a/b"}), 1);
  EXPECT_EQ(wrong_, "rm: `/a/b': Is a directory\n");
  EXPECT_EQ(Fs({"-rm", "-R", "-f", "-skipTrash", "hdfs:///a/*", "hdfs:///none"}), 0);
  EXPECT_TRUE(fs::is_empty(dir_ + "/hdfs/a"));
  EXPECT_EQ(Fs({"-rm", "/none"}), 1);
  EXPECT_EQ(wrong_, "rm: `/none': No such file or directory\n");
}

TEST_F(HadoopFiles, ANameThatIsAGlobIsFoundWhereNothingMatches) {
  Put("f[1]", "one\n");
  ASSERT_EQ(Fs({"-put", "f[1]", "/"}), 0) << wrong_;
  EXPECT_EQ(Fs({"-cat", "/f[1]"}), 0) << wrong_;
  EXPECT_EQ(said_, "one\n");
  Put("hdfs/f1", "matches\n");
  EXPECT_EQ(Fs({"-cat", "/f[1]"}), 0) << wrong_;
  EXPECT_EQ(said_, "matches\n");
  EXPECT_EQ(Fs({"-rm", "/f1", "/f[1]"}), 0) << wrong_;
  EXPECT_FALSE(fs::exists(dir_ + "/hdfs/f[1]"));
  EXPECT_EQ(Fs({"-cat", "/f[1]"}), 1);
}

TEST_F(HadoopFiles, BracesAloneAreAGlob) {
  ASSERT_EQ(Fs({"-mkdir", "-p", "/d"}), 0) << wrong_;
  Put("hdfs/d/a", "1\n");
  Put("hdfs/d/b", "2\n");
  Put("hdfs/d/c", "3\n");
  EXPECT_EQ(Fs({"-cat", "/d/{a,c}"}), 0) << wrong_;
  EXPECT_EQ(said_, "1\n3\n");
  EXPECT_EQ(Fs({"-cat", "/d/{c,none}"}), 0) << wrong_;
  EXPECT_EQ(said_, "3\n");
  EXPECT_EQ(Fs({"-cat", "/d/{x,y}"}), 1);
  EXPECT_EQ(wrong_, "cat: `/d/{x,y}': No such file or directory\n");
  Put("hdfs/d/{a,c}", "a name\n");
  EXPECT_EQ(Fs({"-cat", "/d/{a,c}"}), 0) << wrong_;
  EXPECT_EQ(said_, "a name\n") << "a file of this name";
}

TEST_F(HadoopFiles, GlobsDoNotLeadAboveTheRoot) {
  ASSERT_EQ(Fs({"-mkdir", "-p", "/d"}), 0) << wrong_;
  Put("mine", "mine");
  Put("hdfs/d/file", "x");
  Put("hdfs/d/.hidden", "x");
  Put("hdfs/.hidden", "x");
  EXPECT_EQ(Fs({"-rm", "-R", "/d/.*"}), 0) << wrong_;
  EXPECT_EQ(said_, "Deleted /d/.hidden\n");
  EXPECT_EQ(Fs({"-rm", "-R", "/.*"}), 0) << wrong_;
  EXPECT_EQ(said_, "Deleted /.hidden\n");
  EXPECT_EQ(Fs({"-rm", "-R", "/{..,none*}/mine"}), 1);
  EXPECT_EQ(Fs({"-cat", "/.*/mine"}), 1);
  EXPECT_EQ(Content("mine"), "mine");
  EXPECT_EQ(Content("hdfs/d/file"), "x");
}

TEST_F(HadoopFiles, NoFolderIsCopiedIntoItself) {
  ASSERT_EQ(Fs({"-mkdir", "-p", "/in"}), 0) << wrong_;
  Put("hdfs/in/file", "x");
  fs::create_symlink(".", dir_ + "/hdfs/in/round");
  fs::create_symlink(dir_, dir_ + "/above");
  EXPECT_EQ(Fs({"-put", ".", "/backup"}), 1);
  EXPECT_EQ(wrong_, "put: `.': would be copied into itself, to /backup\n");
  EXPECT_EQ(Fs({"-put", "above", "/in"}), 1);
  EXPECT_EQ(Fs({"-get", "/in", "hdfs/in/in"}), 1);
  EXPECT_EQ(wrong_, "get: `/in': would be copied into itself, to hdfs/in/in\n");
  EXPECT_EQ(Fs({"-get", "/", "hdfs/in"}), 1);
  EXPECT_FALSE(fs::exists(dir_ + "/hdfs/backup"));
  EXPECT_FALSE(fs::exists(dir_ + "/hdfs/in/in"));
  EXPECT_FALSE(fs::exists(dir_ + "/hdfs/in/above"));
  EXPECT_EQ(Fs({"-get", "/in", "in2"}), 1) << "beside it, but for a link";
  EXPECT_EQ(wrong_, "get: `/in/round': is a link to a folder and is not copied\n");
  EXPECT_EQ(Content("in2/file"), "x");
  EXPECT_FALSE(fs::exists(dir_ + "/in2/round"));
}

// Calls back at the first bytes that are written to it.
class CallsAtFirstBytes final : public std::stringbuf {
 public:
  explicit CallsAtFirstBytes(std::function<void()> call) : call_(std::move(call)) {}

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    if (call_) std::exchange(call_, nullptr)();
    return std::stringbuf::xsputn(bytes, count);
  }

 private:
  std::function<void()> call_;
};

TEST_F(HadoopFiles, OneThatIsReplacedWhileItIsReadIsShownAsItWas) {
  ASSERT_EQ(Fs({"-mkdir", "-p", "/"}), 0) << wrong_;
  const std::string old(3 << 20, 'a');
  Put("hdfs/file", old);
  Put("new", std::string(4 << 20, 'b'));
  CallsAtFirstBytes out([this] { fs::rename(dir_ + "/new", dir_ + "/hdfs/file"); });
  std::streambuf* const before = host_.out.rdbuf(&out);
  EXPECT_EQ(RunHadoopFiles(std::vector<std::string>{"-cat", "/file"}, places_, host_), 0);
  host_.out.rdbuf(before);
  EXPECT_TRUE(out.str() == old) << out.str().size();
}

TEST_F(HadoopFiles, WhatIsTouchedIsForOthersToo) {
  const mode_t before = umask(022);
  EXPECT_EQ(Fs({"-touchz", "/empty"}), 0) << wrong_;
  umask(before);
  EXPECT_EQ(static_cast<unsigned>(fs::status(dir_ + "/hdfs/empty").permissions()), 0644u);
}

TEST_F(HadoopFiles, ListsInHadoopsForm) {
  ASSERT_EQ(Fs({"-mkdir", "-p", "/d/e"}), 0);
  Put("hdfs/d/e/file with blanks", "12345");
  EXPECT_EQ(Fs({"-ls", "/d"}), 0);
  EXPECT_TRUE(said_.starts_with("Found 1 items\ndrwx")) << said_;
  EXPECT_EQ(Fs({"-ls", "-R", "hdfs://node/d"}), 0);
  const std::string last = said_.substr(said_.find('\n') + 1);
  EXPECT_TRUE(last.starts_with("-rw")) << said_;
  EXPECT_NE(last.find(" 1 alice alice          5 20"), std::string::npos) << said_;
  EXPECT_TRUE(last.ends_with(" hdfs://node/d/e/file with blanks\n")) << said_;
  EXPECT_EQ(Fs({"-ls", "hdfs:///none"}), 1);
  EXPECT_EQ(wrong_, "ls: `hdfs:///none': No such file or directory\n");
  EXPECT_EQ(Fs({"-ls", "/d/e"}), 0);
  EXPECT_NE(said_.find("Found 1 items"), std::string::npos);
}

TEST_F(HadoopFiles, AResultHasNoManifest) {
  ASSERT_EQ(Fs({"-mkdir", "-p", "/out"}), 0);
  for (const char* const name : {"part-00000", "_SUCCESS"})
    Put(std::string("hdfs/out/") + name, "x");
  Put("hdfs/out/manifest.json",
      R"({"schema": 1, "weir_version": "0.1.0", "job_id": "j-1", "parts": []})");
  EXPECT_EQ(Fs({"-ls", "/out"}), 0);
  EXPECT_EQ(said_.find("manifest"), std::string::npos) << said_;
  EXPECT_EQ(Fs({"-get", "/out", "copy"}), 0);
  EXPECT_FALSE(fs::exists(dir_ + "/copy/manifest.json"));
  fs::remove(dir_ + "/hdfs/out/part-00000");
  EXPECT_EQ(Fs({"-ls", "/out"}), 0);
  EXPECT_NE(said_.find("manifest.json"), std::string::npos) << "a file of the user's own";
}

TEST_F(HadoopFiles, AManifestThatWeirDidNotWriteIsAFileAsAnyOther) {
  fs::create_directories(dir_ + "/mine");
  Put("mine/part-00000", "12345");
  for (const std::string& text : {std::string("not JSON"), std::string("[]"), std::string("{}"),
                                  std::string(R"({"parts": ["a wheel"]})")}) {
    Put("mine/manifest.json", text);
    ASSERT_EQ(Fs({"-rm", "-R", "-f", "/mine"}), 0);
    EXPECT_EQ(Fs({"-put", "mine", "/"}), 0) << wrong_;
    EXPECT_EQ(Content("hdfs/mine/manifest.json"), text);
    EXPECT_EQ(Fs({"-ls", "/mine"}), 0);
    EXPECT_NE(said_.find("/mine/manifest.json"), std::string::npos) << said_;
    EXPECT_EQ(Fs({"-du", "-s", "/mine"}), 0);
    EXPECT_EQ(said_.substr(0, said_.find(' ')), std::to_string(5 + text.size()));
  }
}

TEST_F(HadoopFiles, NothingOutsideIsTouched) {
  Put("mine", "mine");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-rm", "-R", "-f", "hdfs:///../mine"},
        {"-put", "mine", "hdfs:///../other"},
        {"-mkdir", "-p", "/../made"},
        {"-touchz", "hdfs:///a/../../other"},
        {"-rm", "-R", "/"},
        {"-rm", "-R", "hdfs:///"}}) {
    EXPECT_EQ(Fs(words), 1) << words[0];
    EXPECT_NE(wrong_, "") << words[0];
  }
  fs::create_symlink(dir_, dir_ + "/hdfs/link");
  EXPECT_EQ(Fs({"-rm", "-R", "/link"}), 0);
  EXPECT_EQ(Content("mine"), "mine");
  EXPECT_FALSE(fs::exists(dir_ + "/other"));
  EXPECT_FALSE(fs::exists(dir_ + "/made"));
}

TEST_F(HadoopFiles, WhatIsNotKnownIsRefusedByName) {
  EXPECT_EQ(Fs({}), 255);
  EXPECT_TRUE(wrong_.starts_with("fs: needs a command\nweir hadoop fs has -mkdir")) << wrong_;
  EXPECT_EQ(Fs({"-chmod", "777", "/a"}), 255);
  EXPECT_NE(wrong_.find("-chmod: Unknown command"), std::string::npos);
  EXPECT_EQ(Fs({"-ls", "-h", "/"}), 1);
  EXPECT_EQ(wrong_, "ls: Illegal option -h\n");
  EXPECT_EQ(Fs({"-cat"}), 1);
  EXPECT_EQ(Fs({}), 255);
}

class HadoopCommand : public CommandHostTest {
 protected:
  int Run(const std::vector<std::string>& words) {
    ParsedCommandLine parsed = ParseCommandLine(words);
    if (!parsed.command) {
      err_ << parsed.err;
      return parsed.exit_code;
    }
    host_.hdfs_root = dir_ + "/hdfs";
    return RunCommand(*parsed.command, host_);
  }
};

TEST_F(HadoopCommand, TakesCallsAsWords) {
  EXPECT_EQ(Run({"hadoop", "version"}), 0);
  EXPECT_TRUE(out_.str().starts_with("Hadoop 3.")) << out_.str();
  EXPECT_EQ(Run({"hadoop", "fs", "-mkdir", "-p", "/x"}), 0);
  EXPECT_TRUE(fs::is_directory(dir_ + "/hdfs/x"));
  EXPECT_EQ(Run({"hadoop", "--hdfs-root", dir_ + "/other", "fs", "-mkdir", "-p", "/x"}), 0);
  EXPECT_TRUE(fs::is_directory(dir_ + "/other/x"));
  EXPECT_EQ(Run({"hadoop", "--hdfs-root", "relative", "fs", "-ls"}), kExitUsage);
  EXPECT_EQ(Run({"hadoop", "distcp", "a", "b"}), kExitUsage);
  EXPECT_EQ(Run({"hadoop"}), kExitUsage);
  EXPECT_EQ(Run({"hadoop", "jar", "/x/wordcount.jar", "in", "out"}), 255);
  EXPECT_NE(err_.str().find("Not a valid JAR: /x/wordcount.jar"), std::string::npos);
  EXPECT_EQ(Run({"hadoop", "jar", "hadoop-streaming-3.jar", "-mappr", "x"}), kHadoopFailed);
  EXPECT_EQ(Run({"hadoop", "jar", "hadoop-streaming-3.jar", "-input", "s3://b/k", "-output", "o",
                 "-mapper", "m"}),
            kHadoopFailed);
  EXPECT_NE(err_.str().find("s3://b/k"), std::string::npos);
  // Nobody is asked: what is refused needs no master that answers.
  EXPECT_EQ(Run({"hadoop", "--master", "127.0.0.1:1", "jar", "hadoop-streaming-3.jar", "-input",
                 "i", "-output", "o", "-mapper", "m", "--workers", "2"}),
            kHadoopFailed);
  EXPECT_NE(err_.str().find("--workers is of the cluster inside this process"), std::string::npos);
}

TEST_F(HadoopCommand, HomeIsBesideTheProgram) {
  host_.program = dir_ + "/bin/weir";
  EXPECT_EQ(Run({"hadoop-home"}), kExitRefused);
  fs::create_directories(dir_ + "/libexec/weir/hadoop/bin");
  Put("libexec/weir/hadoop/bin/hadoop", "");
  EXPECT_EQ(Run({"hadoop-home"}), 0);
  EXPECT_EQ(out_.str(), dir_ + "/libexec/weir/hadoop\n");
}

}  // namespace
}  // namespace weir::client
