#include "jobs/stream/stream.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "jobs/api/step_error.h"
#include "jobs/stream/contract/stream_spec.h"
#include "jobs/testing/in_process_job.h"

namespace weir::stream {
namespace {

using weir::testing::EvenCut;
using weir::testing::ProgramOf;
using weir::testing::RunJob;
using weir::testing::RunOnText;
using weir::testing::ScratchFile;
using Given = std::vector<std::pair<std::string, std::string>>;

std::string Output(const Given& given, const std::string& text, int mappers = 1, int reducers = 1,
                   int slots = 1) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto definition = MakeDefinition();
  const auto program = ProgramOf(*definition, given);
  auto out = RunOnText(*program, text, mappers, reducers, slots);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *out : "";
}

absl::Status Checked(const Given& given) {
  const auto definition = MakeDefinition();
  const auto values = CheckParameters(definition->info(), given);
  return values.ok() ? definition->CheckValues(*values) : values.status();
}

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  for (std::size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
    lines.push_back(text.substr(from, end - from));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(Stream, SortsByKeyAndKeepsTheValuesInOrder) {
  EXPECT_EQ(Output({{"mapper", "cat"}}, "b\t1\na\t2\nb\t1\na\t1\n"), "a\t2\na\t1\nb\t1\nb\t1\n");
}

TEST(Stream, LinesWithoutSeparatorAreKeysWithAnEmptyValue) {
  EXPECT_EQ(Output({{"mapper", "cat"}, {"reducer", "cat"}}, "b\na\n"), "a\t\nb\t\n");
}

TEST(Stream, WithoutReducersTheLinesStayInOrder) {
  EXPECT_EQ(Output({{"mapper", "cat"}, {"reducer", "NONE"}}, "b\t1\na\t2\nb\n", 1, 1, 2),
            "b\t1\na\t2\nb\t\n");
}

TEST(Stream, KeysOfTheInputAreIgnoredInEveryFormat) {
  const auto mapped = [](const std::string& format, const std::string& ignore) {
    Given given = {{"mapper", "cat"}, {"reducer", "NONE"}, {"input_format", format}};
    if (!ignore.empty()) {
      given.emplace_back("properties", "stream.map.input.ignoreKey=" + ignore + "\n");
    }
    return Output(given, "a\tb\tc\nd\te\n");
  };
  EXPECT_EQ(mapped("text", ""), "a\tb\tc\nd\te\n");
  EXPECT_EQ(mapped("text", "false"), "0\ta\tb\tc\n6\td\te\n");
  EXPECT_EQ(mapped("n-lines", ""), "0\ta\tb\tc\n6\td\te\n");
  EXPECT_EQ(mapped("n-lines", "true"), "a\tb\tc\nd\te\n");
  EXPECT_EQ(mapped("key-value", ""), "a\tb\tc\nd\te\n");
  EXPECT_EQ(mapped("key-value", "true"), "b\tc\ne\t\n");
}

// Not every few lines of what a mapper or a slot has: a file is cut anywhere.
TEST(Stream, EveryFewLinesOfAFileHaveAProcess) {
  std::string text;
  std::vector<std::string> groups;
  for (int i = 0; i < 20; ++i) {
    text += std::to_string(i) + "\n";
    if (i % 3 == 0) groups.emplace_back();
    groups.back() += std::to_string(i) + "+";
  }
  for (std::string& group : groups) group += "\t";
  std::sort(groups.begin(), groups.end());
  const Given given = {{"mapper", "sh -c 'cut -f 2 | tr \"\\n\" +; echo'"},
                       {"reducer", "NONE"},
                       {"input_format", "n-lines"},
                       {"properties", "mapreduce.input.lineinputformat.linespermap=3\n"}};
  for (const int mappers : {1, 3}) {
    for (const int slots : {1, 2}) {
      EXPECT_EQ(SortedLines(Output(given, text, mappers, 1, slots)), groups)
          << mappers << " mappers, " << slots << " slots";
    }
  }
}

// Text of jobs without reducers lies in few large pairs.
TEST(Stream, WithoutReducersTheLinesGoToDiskWhereMemoryIsFull) {
  std::signal(SIGPIPE, SIG_IGN);
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i) + "\tvalue\n";
  const ScratchFile file(text);
  const auto definition = MakeDefinition();
  const auto program = ProgramOf(*definition, {{"mapper", "cat"}, {"reducer", "NONE"}});
  weir::testing::JobLog log;
  log.memory_bytes = 1 << 20;
  log.spill_above = 512 << 10;
  const auto parts = RunJob(*program, EvenCut({file.path()}, 1, 1, 1), log);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(*parts, std::vector<std::string>{text});
  EXPECT_GT(log.num_spills, 1);
}

TEST(Stream, CountersStayAtTheMostThatTheyHold) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string up = "echo reporter:counter:g,up,9223372036854775807 >&2; ";
  const std::string down = "echo reporter:counter:g,down,-9223372036854775808 >&2; ";
  const ScratchFile file("a\t1\nb\t2\n");
  const auto definition = MakeDefinition();
  const auto program = ProgramOf(
      *definition, {{"mapper", "sh -c 'cat; " + up + up + down + down + "'"}, {"reducer", "NONE"}});
  weir::testing::JobLog log;
  const auto parts = RunJob(*program, EvenCut({file.path()}, 2, 1, 1), log);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(log.counters["g,up"], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(log.counters["g,down"], std::numeric_limits<std::int64_t>::min());
}

TEST(Stream, CombinersChangeNothingThatTheyMayNot) {
  const std::string count =
      "awk -F '\t' '{ n[$1] += $2 } END { for (k in n) print k \"\t\" n[k] }'";
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i % 17) + "\t1\n";
  const Given plain = {{"mapper", "cat"}, {"reducer", count}};
  Given combined = plain;
  combined.emplace_back("combiner", count);
  EXPECT_EQ(SortedLines(Output(plain, text, 3, 2, 2)),
            SortedLines(Output(combined, text, 3, 2, 2)));
}

// One that says something at its end would add a pair of no record: here slots without input.
TEST(Stream, ACombinerIsNotStartedForNoPairs) {
  const std::string least =
      "awk -F '\t' 'n == 0 || $2 < m { m = $2; n = 1 } END { print \"least\\t\" m }'";
  EXPECT_EQ(Output({{"mapper", "sed 's/^/least\t/'"}, {"combiner", least}, {"reducer", least}},
                   "7\n8\n", 1, 1, 4),
            "least\t7\n");
  EXPECT_EQ(Output({{"mapper", "sed d"}, {"combiner", least}, {"reducer", "cat"}}, "7\n8\n"), "");
}

// Whatever lines mappers write and however they are cut.
RC_GTEST_PROP(Stream, ACombinerThatHandsLinesOnChangesNothing, ()) {
  const std::string separator = *rc::gen::elementOf(std::vector<std::string>{"\t", ",", "::"});
  const int key_fields = *rc::gen::inRange(1, 4);
  std::string text;
  for (int i = *rc::gen::inRange(1, 30); i > 0; --i) {
    const auto field = rc::gen::elementOf(std::vector<std::string>{"", "0", "1"});
    std::string line = *field;
    for (int more = *rc::gen::inRange(0, 5); more > 0; --more) line += separator + *field;
    text += line + "\n";
  }
  Given given = {{"mapper", "cat"}, {"reducer", "cat"}};
  given.emplace_back("properties",
                     "stream.map.output.field.separator=" + separator +
                         "\nstream.num.map.output.key.fields=" + std::to_string(key_fields) + "\n");
  const std::string plain = Output(given, text, 1, 2);
  given.emplace_back("combiner", "cat");
  RC_ASSERT(Output(given, text, 1, 2) == plain);
}

// What the reducer reads shows where the combiner's lines were cut: it writes '|' behind them.
TEST(Stream, ACombinerWritesAsTheReducerWhereTheJobSaysHow) {
  const auto reads = [](const std::string& combiner, const std::string& properties) {
    return Output({{"mapper", "cat"},
                   {"combiner", combiner},
                   {"reducer", "sed s/$/|/"},
                   {"properties", properties}},
                  "a\tb\tc\n");
  };
  EXPECT_EQ(reads("tr '\t' ,", "stream.reduce.output.field.separator=,\n"), "a\tb\tc|\n");
  const std::string two_fields =
      "stream.num.map.output.key.fields=2\nstream.reduce.input.field.separator=:\n";
  EXPECT_EQ(reads("cat", two_fields), "a\tb:c|\n");
  EXPECT_EQ(reads("cat", two_fields + "stream.reduce.output.field.separator=\t\n"
                                      "stream.num.reduce.output.key.fields=1\n"),
            "a:b:c|\t\n");
}

TEST(Stream, SaysWhatTheScriptSays) {
  std::signal(SIGPIPE, SIG_IGN);
  const ScratchFile file("x\n");
  const auto definition = MakeDefinition();
  const auto program =
      ProgramOf(*definition, {{"mapper", "sh -c 'cat; echo reporter:status:half done >&2'"}});
  weir::testing::RecordingContext context(1);
  weir::testing::MemoryRun run;
  ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, run, context).ok());
  EXPECT_EQ(context.statuses, std::vector<std::string>{"half done"});
}

// With little memory the combiner runs while the mapper still writes, and once more at the end.
TEST(Stream, CombinersKeepPairsWithinMemory) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string sum = "awk -F '\t' '{ n[$1] += $2 } END { for (k in n) print k \"\t\" n[k] }'";
  const ScratchFile file("x\n");
  const auto definition = MakeDefinition();
  const auto program =
      ProgramOf(*definition, {{"mapper", "sh -c 'cat >/dev/null; yes \"k\t1\" | head -n 2000000'"},
                              {"combiner", sum},
                              {"reducer", "cat"}});
  weir::testing::RecordingContext context(1, 16 << 20);
  weir::testing::MemoryRun run;
  const auto mapped = program->Map({{file.range()}, {1.0}}, run, context);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_EQ(run.records(), 1);
}

// Keys that all differ fill the memory and go to disk; then one key comes a million times.
TEST(Stream, CombinersRunAgainBehindWhatTheyDidNotHelp) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string sum = "awk -F '\t' '{ n[$1] += $2 } END { for (k in n) print k \"\t\" n[k] }'";
  const ScratchFile file("x\n");
  const auto definition = MakeDefinition();
  const auto program = ProgramOf(
      *definition, {{"mapper",
                     "sh -c 'cat >/dev/null; seq 150000 | sed \"s/$/\t1/\"; yes \"k\t1\" | head -n "
                     "1000000'"},
                    {"combiner", sum},
                    {"reducer", "cat"}});
  weir::testing::RecordingContext context(1);
  context.spill_above = 4 << 20;
  weir::testing::MemoryRun run;
  const auto mapped = program->Map({{file.range()}, {1.0}}, run, context);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_GE(context.num_spills, 1);
  EXPECT_LE(context.num_spills, 4);
}

TEST(Stream, ComparatorGivesTheOrderAndKeepsEqualKeysTogether) {
  const std::string properties =
      "mapreduce.job.output.key.comparator.class=org.apache.hadoop.mapred.lib."
      "KeyFieldBasedComparator\nmapreduce.partition.keycomparator.options=-k2,2nr\n"
      "stream.num.map.output.key.fields=2\n";
  EXPECT_EQ(Output({{"mapper", "cat"}, {"reducer", "cat"}, {"properties", properties}},
                   "b\t2\tx\na\t10\ty\nc\t2\tz\nb\t2\tw\n"),
            "a\t10\ty\nb\t2\tx\nb\t2\tw\nc\t2\tz\n");
}

TEST(Stream, PartitionerSendsByTheNamedFields) {
  const ScratchFile file("a.1\tx\na.2\ty\nb.1\tz\n");
  const auto definition = MakeDefinition();
  const auto program =
      ProgramOf(*definition, {{"mapper", "cat"},
                              {"properties",
                               "mapreduce.job.partitioner.class=KeyFieldBasedPartitioner\n"
                               "mapreduce.partition.keypartitioner.options=-k1,1\n"
                               "mapreduce.map.output.key.field.separator=.\n"}});
  const auto parts = RunJob(*program, EvenCut({file.path()}, 1, 2, 1));
  ASSERT_TRUE(parts.ok()) << parts.status();
  // 'a' is 97, 'b' is 98.
  EXPECT_EQ((*parts)[1], "a.1\tx\na.2\ty\n");
  EXPECT_EQ((*parts)[0], "b.1\tz\n");
}

TEST(Stream, AFailedScriptIsNamedWithItsPlaceAndLastWords) {
  std::signal(SIGPIPE, SIG_IGN);
  const ScratchFile file("one\ntwo\n");
  const auto definition = MakeDefinition();
  const auto program =
      ProgramOf(*definition, {{"mapper", "sh -c 'cat > /dev/null; echo oh dear >&2; exit 7'"}});
  const auto parts = RunJob(*program, EvenCut({file.path()}, 1, 1, 1));
  const auto error = StepErrorOf(parts.status());
  ASSERT_TRUE(error.has_value()) << parts.status();
  EXPECT_EQ(error->code, step_error::kUserError);
  EXPECT_NE(error->message.find("exited with code 7"), std::string::npos) << error->message;
  EXPECT_EQ(error->file, file.path());
  EXPECT_EQ(error->byte_offset, 8);
  EXPECT_EQ(error->stderr_tail, "oh dear\n");
}

TEST(Stream, AFirstLineOfWindowsIsToBeMended) {
  std::signal(SIGPIPE, SIG_IGN);
  const ScratchFile file("one\ntwo\n");
  const ScratchFile script("#!/usr/bin/env sh\r\ncat\r\n");
  std::filesystem::permissions(script.path(), std::filesystem::perms::owner_all);
  const auto definition = MakeDefinition();
  const auto program = ProgramOf(*definition, {{"mapper", script.path()}});
  const auto parts = RunJob(*program, EvenCut({file.path()}, 1, 1, 1));
  const auto error = StepErrorOf(parts.status());
  ASSERT_TRUE(error.has_value()) << parts.status();
  EXPECT_NE(error->message.find("carriage return"), std::string::npos) << error->message;
  EXPECT_EQ(error->advice.substr(0, 19), "mend its first line") << error->advice;
}

TEST(Stream, NonZeroExitMayBeNoFailure) {
  EXPECT_EQ(Output({{"mapper", "sh -c 'cat; exit 7'"},
                    {"properties", "stream.non.zero.exit.is.failure=false"}},
                   "a\tb\n"),
            "a\tb\n");
}

TEST(StreamSpec, NamesWhatIsWrong) {
  const auto says = [](const Given& given, const std::string& needle) {
    const absl::Status status = Checked(given);
    EXPECT_FALSE(status.ok()) << needle;
    EXPECT_NE(std::string(status.message()).find(needle), std::string::npos) << status;
  };
  says({}, "'mapper'");
  says({{"mapper", "org.apache.hadoop.mapred.lib.IdentityMapper"}}, "no Java classes");
  says({{"mapper", "cat"}, {"properties", "stream.num.map.output.key.fields=0"}},
       "stream.num.map.output.key.fields");
  says({{"mapper", "cat"}, {"properties", "mapreduce.job.partitioner.class=my.Own"}}, "my.Own");
  says({{"mapper", "cat"}, {"properties", "stream.map.input=typedbytes"}}, "typedbytes");
  says({{"mapper", "cat"}, {"properties", "mapred.output.compress=true"}}, "compress");
  says({{"mapper", "cat"}, {"properties", "textinputformat.record.delimiter=x"}}, "delimiter");
  says({{"mapper", "cat"}, {"properties", "mapreduce.input.pathFilter.class=my.Filter"}},
       "'mapreduce.input.pathFilter.class' is not supported; name the files by patterns");
  says({{"mapper", "cat"}, {"properties", "mapred.min.split.size=1099511627776"}},
       "'mapreduce.input.fileinputformat.split.minsize' is '1099511627776'; Weir cuts files");
  EXPECT_TRUE(Checked({{"mapper", "cat"}, {"properties", "mapred.min.split.size=1"}}).ok());
  says({{"mapper", "cat"}, {"properties", "broken"}}, "'broken'");
  EXPECT_TRUE(Checked({{"mapper", "cat"}}).ok());
}

// The promise of the contract: every pair reaches a reducer, equal ones as often as they were
// written, and each reducer's keys come sorted.
RC_GTEST_PROP(StreamProperty, ReducersGetEveryPairSorted, ()) {
  const auto word = rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab")));
  const auto pairs = *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(
      rc::gen::pair(word, word));
  const int mappers = *rc::gen::inRange(1, 4);
  const int reducers = *rc::gen::inRange(1, 4);
  const int slots = *rc::gen::inRange(1, 3);
  std::string text;
  for (const auto& [key, value] : pairs) text += key + "\t" + value + "\n";
  std::signal(SIGPIPE, SIG_IGN);
  const ScratchFile file(text);
  const auto definition = MakeDefinition();
  const auto program = ProgramOf(*definition, {{"mapper", "cat"}, {"reducer", "cat"}});
  const auto parts = RunJob(*program, EvenCut({file.path()}, mappers, reducers, slots));
  RC_ASSERT(parts.ok());
  std::string all;
  for (const std::string& part : *parts) {
    std::string last;
    for (std::size_t from = 0; from < part.size(); from = part.find('\n', from) + 1) {
      const std::string key = part.substr(from, part.find('\t', from) - from);
      RC_ASSERT(last <= key);
      last = key;
    }
    all += part;
  }
  RC_ASSERT(SortedLines(all) == SortedLines(text));
}

}  // namespace
}  // namespace weir::stream
