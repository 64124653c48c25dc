#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "jobs/stream/contract/aggregate.h"
#include "jobs/stream/contract/command_words.h"
#include "jobs/stream/contract/field_cut.h"
#include "jobs/stream/contract/properties.h"
#include "jobs/stream/contract/reporter_line.h"

namespace weir::stream {
namespace {

using Words = std::vector<std::string>;

TEST(SplitCommand, CutsAtBlanksAndKeepsQuotedOnesTogether) {
  EXPECT_EQ(SplitCommand("python3 map.py  -n 3 "), (Words{"python3", "map.py", "-n", "3"}));
  EXPECT_EQ(SplitCommand("bash -c 'cut -f 1 | grep \"a b\"'"),
            (Words{"bash", "-c", "cut -f 1 | grep \"a b\""}));
  EXPECT_EQ(SplitCommand("awk \"{print 'x'}\""), (Words{"awk", "{print 'x'}"}));
}

TEST(SplitCommand, IsNoShell) {
  EXPECT_EQ(SplitCommand("cat $HOME/* > x \\n"), (Words{"cat", "$HOME/*", ">", "x", "\\n"}));
  EXPECT_EQ(SplitCommand("a\tb"), (Words{"a\tb"}));
}

// As PipeMapRed.splitArgs does it.
TEST(SplitCommand, AQuoteEndsTheWordBeforeIt) {
  EXPECT_EQ(SplitCommand("--x='a b'c"), (Words{"--x=", "a b", "c"}));
  EXPECT_EQ(SplitCommand("a \"\" b"), (Words{"a", "b"}));
  EXPECT_EQ(SplitCommand("a 'b c"), (Words{"a", "b c"}));
  EXPECT_TRUE(SplitCommand("  ").empty());
}

TEST(FieldCut, CutsAtTheNthSeparator) {
  const FieldCut first;
  EXPECT_EQ(first.Cut("k\tv\tw").key, "k");
  EXPECT_EQ(first.Cut("k\tv\tw").value, "v\tw");
  const FieldCut second{.separator = ".", .key_fields = 2};
  EXPECT_EQ(second.Cut("a.b.c.d").key, "a.b");
  EXPECT_EQ(second.Cut("a.b.c.d").value, "c.d");
}

TEST(FieldCut, TooFewSeparatorsMakeTheWholeLineTheKey) {
  const FieldCut second{.separator = ".", .key_fields = 2};
  EXPECT_EQ(second.Cut("a.b").key, "a.b");
  EXPECT_EQ(second.Cut("a.b").value, "");
  EXPECT_FALSE(second.Cut("a.b").cut);
  EXPECT_TRUE(FieldCut().Cut("a\t").cut);
  EXPECT_EQ(FieldCut().Cut("").key, "");
}

TEST(FieldCut, SeparatorsMayHaveSeveralBytes) {
  const FieldCut two{.separator = "::", .key_fields = 2};
  EXPECT_EQ(two.Cut("a::b::c::d").key, "a::b");
  EXPECT_EQ(two.Cut("a::b::c::d").value, "c::d");
}

TEST(ReporterLine, CountersHaveExactlyThreeFields) {
  const ReporterLine counter =
      ReadReporterLine("reporter:counter:My group,lines read,3", "reporter:");
  EXPECT_EQ(counter.kind, ReporterLine::Kind::kCounter);
  EXPECT_EQ(counter.name, "My group,lines read");
  EXPECT_EQ(counter.value, 3);
  EXPECT_EQ(ReadReporterLine("reporter:counter: g,n,-4 ", "reporter:").value, -4);
  for (const char* broken : {"reporter:counter:g,n", "reporter:counter:g,a,b,1",
                             "reporter:counter:g,n,x", "reporter:counter:g,n, 1", "reporter:?"}) {
    EXPECT_EQ(ReadReporterLine(broken, "reporter:").kind, ReporterLine::Kind::kBroken) << broken;
  }
}

TEST(ReporterLine, StatusAndOtherLines) {
  EXPECT_EQ(ReadReporterLine("reporter:status: half way ", "reporter:").text, "half way");
  EXPECT_EQ(ReadReporterLine("warning: reporter:status:x", "reporter:").kind,
            ReporterLine::Kind::kText);
  EXPECT_EQ(ReadReporterLine("me:counter:a,b,1", "me:").name, "a,b");
}

TEST(Properties, OldAndNewNameAreOneProperty) {
  Properties properties;
  properties.Set("mapred.task.timeout", "5");
  EXPECT_EQ(*properties.Find("mapreduce.task.timeout"), "5");
  properties.Set("mapreduce.task.timeout", "6");
  EXPECT_EQ(properties.Get("mapred.task.timeout", ""), "6");
  absl::btree_map<std::string, std::string> environment;
  properties.AddToEnvironment(-1, environment);
  EXPECT_EQ(environment["mapreduce_task_timeout"], "6");
  EXPECT_EQ(environment["mapred_task_timeout"], "6");
}

TEST(Properties, VariablesHaveLettersDigitsAndUnderscores) {
  EXPECT_EQ(EnvironmentName("a.b-c/D9"), "a_b_c_D9");
  Properties properties;
  properties.Set("my.key", "abcdef");
  absl::btree_map<std::string, std::string> environment;
  properties.AddToEnvironment(3, environment);
  EXPECT_EQ(environment["my_key"], "abc");
}

TEST(Properties, NamesWhatIsNoNumberOrFlag) {
  Properties properties;
  properties.Set("n", "x");
  EXPECT_NE(std::string(properties.Integer("n", 1, 0, 9).status().message()).find("'n' is 'x'"),
            std::string::npos);
  EXPECT_FALSE(properties.Flag("n", true).ok());
  EXPECT_TRUE(*properties.Flag("other", true));
}

TEST(Properties, LinesKeepNewlinesAndBackslashes) {
  const auto pairs = ReadNameValueLines("a=1\n\nb=x\\ny\\\\z=\\t\n");
  ASSERT_TRUE(pairs.ok());
  ASSERT_EQ(pairs->size(), 2u);
  EXPECT_EQ((*pairs)[1].second, "x\ny\\z=\\t");
  EXPECT_FALSE(ReadNameValueLines("novalue").ok());
  EXPECT_FALSE(ReadNameValueLines("=v").ok());
}

std::string ReportOf(std::string_view type, const Words& values) {
  auto aggregator = MakeAggregator(type);
  EXPECT_TRUE(aggregator.ok()) << aggregator.status();
  if (!aggregator.ok()) return "";
  for (const std::string& value : values) EXPECT_TRUE((*aggregator)->Add(value).ok());
  return (*aggregator)->Report();
}

TEST(Aggregate, EveryTypeReportsWhatHadoopReports) {
  EXPECT_EQ(ReportOf("LongValueSum", {"1", "-3", "10"}), "8");
  EXPECT_EQ(ReportOf("LongValueMax", {"1", "-3", "10"}), "10");
  EXPECT_EQ(ReportOf("LongValueMin", {"1", "-3", "10"}), "-3");
  EXPECT_EQ(ReportOf("DoubleValueSum", {"1.5", "2"}), "3.5");
  EXPECT_EQ(ReportOf("StringValueMax", {"b", "a", "ab"}), "b");
  EXPECT_EQ(ReportOf("StringValueMin", {"b", "a", "ab"}), "a");
  EXPECT_EQ(ReportOf("UniqValueCount", {"x", "y", "x"}), "2");
  // Counts 1, 1, 4: how many values, least, middle, most, mean, standard deviation.
  EXPECT_EQ(ReportOf("ValueHistogram", {"a", "b", "c", "c\t3"}),
            "3\t1\t1\t4\t2.0\t1.4142135623730951");
}

TEST(Aggregate, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(MakeAggregator("LongValueSums").ok());
  EXPECT_TRUE(MakeAggregator("longvaluesum").ok());
  EXPECT_TRUE(MakeAggregator("UNIQVALUECOUNT").ok());
  EXPECT_FALSE(ReadAggregateKey("word").ok());
  EXPECT_EQ(ReadAggregateKey("LongValueSum:a:b")->name, "a:b");
  EXPECT_FALSE((*MakeAggregator("LongValueSum"))->Add("1.5").ok());
}

TEST(Aggregate, NumbersAsJavaWritesThem) {
  EXPECT_EQ(JavaDouble(0), "0.0");
  EXPECT_EQ(JavaDouble(1e7), "1.0E7");
  EXPECT_EQ(JavaDouble(-123456.789), "-123456.789");
  EXPECT_EQ(JavaDouble(1.5e-5), "1.5E-5");
}

// A combiner may put any values together first.
RC_GTEST_PROP(AggregateProperty, CombiningFirstChangesNothing,
              (const std::vector<std::int8_t>& left, const std::vector<std::int8_t>& right)) {
  for (const char* type : {"LongValueSum", "LongValueMax", "LongValueMin", "StringValueMax",
                           "StringValueMin", "UniqValueCount", "ValueHistogram"}) {
    auto all = *MakeAggregator(type);
    auto combined = *MakeAggregator(type);
    for (const auto* part : {&left, &right}) {
      if (part->empty()) continue;
      auto some = *MakeAggregator(type);
      for (const std::int8_t value : *part) {
        RC_ASSERT(all->Add(std::to_string(value)).ok());
        RC_ASSERT(some->Add(std::to_string(value)).ok());
      }
      for (const std::string& value : some->Combined()) RC_ASSERT(combined->Add(value).ok());
    }
    RC_ASSERT(all->Report() == combined->Report());
  }
}

}  // namespace
}  // namespace weir::stream
