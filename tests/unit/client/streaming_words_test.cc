#include "runtime/client/flags/streaming_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/job_errors.h"
#include "runtime/client/flags/command_line.h"
#include "runtime/client/flags/exit_codes.h"

namespace weir::client {
namespace {

using Words = std::vector<std::string>;

Words RunWords(const Words& words) {
  const auto read = ReadStreamingWords(words);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? read->run : Words();
}

bool Holds(const Words& words, const Words& inside) {
  return std::search(words.begin(), words.end(), inside.begin(), inside.end()) != words.end();
}

std::string Refused(const Words& words) {
  const auto read = ReadStreamingWords(words);
  EXPECT_FALSE(read.ok());
  return std::string(read.status().message());
}

TEST(StreamingWords, BecomeARun) {
  const Words run =
      RunWords({"-D",          "a.b=c=d",   "-input", "x",       "y",           "-input",
                "file:///z,w", "-output",   "out",    "-mapper", "sh -c 'cat'", "-reducer",
                "wc -l",       "-combiner", "cat",    "-cmdenv", "E=1",         "-numReduceTasks",
                "3",           "--workers", "2"});
  EXPECT_TRUE(Holds(run, {"run", "stream", "x", "y", "/z", "w", "-o", "out"}));
  EXPECT_TRUE(Holds(run, {"--set", "mapper=sh -c 'cat'"}));
  EXPECT_TRUE(Holds(run, {"--set", "combiner=cat"}));
  EXPECT_TRUE(Holds(run, {"--set", "reducer=wc -l"}));
  EXPECT_TRUE(Holds(run, {"--reducers", "3"}));
  EXPECT_TRUE(Holds(run, {"--set", "properties=a.b=c=d\nmapreduce.job.reduces=3\n"}));
  EXPECT_TRUE(Holds(run, {"--set", "cmdenv=E=1\n"}));
  EXPECT_TRUE(Holds(run, {"--workers", "2"}));
}

TEST(StreamingWords, CommasPartPathsButNotTheAlternativesOfAGlob) {
  const Words run = RunWords(
      {"-input", "a,b{1,2}c,{d,e{f,g}}", "-input", "-h*", "-output", "out", "-mapper", "cat"});
  EXPECT_TRUE(Holds(run, {"stream", "a", "b{1,2}c", "{d,e{f,g}}", "./-h*", "-o", "out"}));
}

TEST(StreamingWords, OneReducerUnlessToldOtherwise) {
  const Words base = {"-input", "x", "-output", "o", "-mapper", "m"};
  const auto with = [&base](Words more) {
    Words words = base;
    words.insert(words.end(), more.begin(), more.end());
    return RunWords(words);
  };
  EXPECT_TRUE(Holds(with({}), {"--reducers", "1"}));
  EXPECT_TRUE(Holds(with({"-D", "mapred.reduce.tasks=4"}), {"--reducers", "4"}));
  EXPECT_TRUE(Holds(with({"-Dmapreduce.job.reduces=5"}), {"--reducers", "5"}));
  for (const Words& none : {Words{"-numReduceTasks", "0"}, Words{"-reducer", "NONE"},
                            Words{"-D", "mapred.reduce.tasks=0"}}) {
    const Words run = with(none);
    EXPECT_TRUE(Holds(run, {"--set", "reducer=NONE"}));
    EXPECT_FALSE(Holds(run, {"--reducers"}));
  }
}

TEST(StreamingWords, RefusesWhatItDoesNotKnowByName) {
  EXPECT_NE(Refused({"-inptu", "x"}).find("-inptu"), std::string::npos);
  EXPECT_NE(Refused({"-inptu", "x"}).find("'-input'"), std::string::npos);
  EXPECT_NE(Refused({"-lazyOutput"}).find("-lazyOutput"), std::string::npos);
  EXPECT_NE(Refused({"-inputreader", "x"}).find("Java"), std::string::npos);
  EXPECT_NE(Refused({"-inputformat", "SequenceFileInputFormat"}).find("Sequence"),
            std::string::npos);
  EXPECT_NE(Refused({"-mapper"}).find("needs a value"), std::string::npos);
  EXPECT_NE(Refused({"-mapper", "a", "-mapper", "b"}).find("twice"), std::string::npos);
  EXPECT_NE(Refused({"-D", "novalue"}).find("novalue"), std::string::npos);
  EXPECT_NE(Refused({"-mapper", "a", "-output", "b"}).find("-input"), std::string::npos);
  EXPECT_NE(Refused({"stray"}).find("'stray'"), std::string::npos);
}

TEST(StreamingWords, AWordBehindAFlagThatTakesNoValueIsNoInput) {
  const Words base = {"streaming", "-input", "x", "y", "-output", "o", "-mapper", "m"};
  for (const char* const flag : {"--quiet", "--overwrite", "--no-sample", "--"}) {
    Words words = base;
    words.insert(words.end(), {flag, "stray"});
    const auto parsed = ParseCommandLine(words);
    EXPECT_FALSE(parsed.command.has_value()) << flag;
    EXPECT_EQ(parsed.exit_code, kHadoopFailed) << flag;
    EXPECT_NE(parsed.err.find("takes no argument 'stray'"), std::string::npos) << parsed.err;
  }
  Words words = base;
  words.insert(words.end(), {"--quiet", "--workers", "2", "--set", "a=b"});
  const auto parsed = ParseCommandLine(words);
  ASSERT_TRUE(parsed.command.has_value()) << parsed.err;
  EXPECT_EQ(std::get<StreamingOptions>(*parsed.command).run.job.inputs, (Words{"x", "y"}));
}

TEST(StreamingWords, FilesGoWithTheJob) {
  const Words run = RunWords({"-files", "a/b.py,file:///c#d", "-file", "x", "y", "-archives",
                              "l.tar.gz#lib,z.jar", "-input", "in", "-output", "out", "-mapper",
                              "./a/b.py 1", "-reducer", "b.py"});
  EXPECT_TRUE(Holds(run, {"--file", "a/b.py#b.py", "--file", "/c#d", "--file", "x#x", "--file",
                          "y#y", "--archive", "l.tar.gz#lib", "--archive", "z.jar#z.jar"}));
  EXPECT_TRUE(Holds(run, {"--set", "mapper=b.py 1"})) << "the one that arrives";
  EXPECT_TRUE(Holds(run, {"--set", "reducer=b.py"}));
  for (const char* const wrong : {"a#b/c", "a#", "#b", "/", "a#.", "a#..", "a#b\nc"}) {
    EXPECT_NE(
        Refused({"-files", wrong, "-input", "i", "-output", "o", "-mapper", "m"}).find("PATH#NAME"),
        std::string::npos)
        << wrong;
  }
}

TEST(StreamingWords, ACommandMayBeAPathInQuotes) {
  const auto mapper = [](const std::string& file, const std::string& command) -> std::string {
    const Words run =
        RunWords({"-file", file, "-input", "in", "-output", "out", "-mapper", command});
    for (const std::string& word : run) {
      if (word.starts_with("mapper=")) return word.substr(7);
    }
    return "none";
  };
  EXPECT_EQ(mapper("a b/m.py", "'a b/m.py'"), "m.py");
  EXPECT_EQ(mapper("a b/m.py", "\"./a b/m.py\" -x 'y z'"), "m.py -x 'y z'");
  EXPECT_EQ(mapper("a b/m.py", " 'a b/m.py'x"), "m.py x") << "a quote ends a word";
  EXPECT_EQ(mapper("a b/m.py", "'a b/m.py"), "m.py") << "one that is not closed reaches to the end";
  EXPECT_EQ(mapper("a/m.py#my m.py", "a/m.py 1"), "\"my m.py\" 1") << "one word there, too";
  EXPECT_EQ(mapper("a/m.py", "'b/m.py' 1"), "'b/m.py' 1") << "another file";
  EXPECT_EQ(mapper("a/m.py", "sed 's/a/b/'"), "sed 's/a/b/'");
  EXPECT_EQ(mapper("a/m.py", "'' a/m.py"), "'' a/m.py");
}

TEST(StreamingWords, FilesWithoutASchemeAreTheCallers) {
  const auto read =
      ReadStreamingWords(Words{"-input", "in", "-output", "out", "-mapper", "m", "-files",
                               "a.py,hdfs:///b.py", "-file", "c.py", "-cacheFile", "d.py"},
                         [](const std::string& word) -> absl::StatusOr<std::string> {
                           return absl::StrCat("cluster:", word);
                         });
  ASSERT_TRUE(read.ok()) << read.status();
  const std::string run = absl::StrJoin(read->run, " ");
  for (const char* const shipped :
       {" a.py#a.py", "cluster:hdfs:///b.py#b.py", " c.py#c.py", "cluster:d.py#d.py"}) {
    EXPECT_NE(run.find(shipped), std::string::npos) << run;
  }
  EXPECT_NE(run.find("cluster:in"), std::string::npos) << run;
}

TEST(StreamingWords, FlagsOfEveryJob) {
  const auto parsed = ParseCommandLine({"run", "wordcount", "in", "-o", "out", "--file", "a#b#c",
                                        "--archive", "dir/x.zip", "--file", "d"});
  ASSERT_TRUE(parsed.command.has_value()) << parsed.err;
  const auto& files = std::get<RunOptions>(*parsed.command).job.files;
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].path, "a#b");
  EXPECT_EQ(files[0].name, "c");
  EXPECT_EQ(files[2].name, "x.zip");
  EXPECT_TRUE(files[2].unpack);
  EXPECT_EQ(ParseCommandLine({"run", "wordcount", "in", "-o", "out", "--file", "a#/"}).exit_code,
            kExitUsage);
}

TEST(StreamingWords, ParseAsACommandWithHadoopsExitCodes) {
  const auto parsed =
      ParseCommandLine({"streaming", "-input", "x", "-output", "o", "-mapper", "m"});
  ASSERT_TRUE(parsed.command.has_value()) << parsed.err;
  const auto& options = std::get<StreamingOptions>(*parsed.command);
  EXPECT_EQ(options.run.job.job, "stream");
  EXPECT_TRUE(options.mark_success);
  EXPECT_EQ(ParseCommandLine({"streaming", "-nope"}).exit_code, kHadoopFailed);
  EXPECT_EQ(ParseCommandLine({"streaming"}).exit_code, kHadoopFailed) << "2 would be: no input";
  EXPECT_NE(ParseCommandLine({"streaming", "-help"}).out.find("-numReduceTasks"),
            std::string::npos);
  EXPECT_EQ(HadoopExitCode(kExitOk, ""), kHadoopOk);
  EXPECT_EQ(HadoopExitCode(kExitJobFailed, job_error::kUserError), kHadoopFailed);
  EXPECT_EQ(HadoopExitCode(kExitRefused, job_error::kInputNotFound), kHadoopNoInput);
  EXPECT_EQ(HadoopExitCode(kExitUsage, ""), kHadoopBadConfiguration);
  EXPECT_EQ(HadoopExitCode(kExitRefused, job_error::kOutputExists), kHadoopOutputExists);
  EXPECT_EQ(HadoopExitCode(kExitMasterUnreachable, ""), kHadoopIo);
  EXPECT_EQ(HadoopExitCode(kExitInterrupted, job_error::kCancelled), kHadoopInterrupted);
}

}  // namespace
}  // namespace weir::client
