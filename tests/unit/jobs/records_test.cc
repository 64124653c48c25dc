#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/records/column_choice.h"
#include "jobs/records/csv_check.h"
#include "jobs/records/csv_columns.h"
#include "jobs/records/first_lines.h"
#include "jobs/records/number.h"
#include "jobs/records/parameters.h"
#include "jobs/records/random_numbers.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

ParameterValues Values(const Given& given) {
  JobInfo info;
  ColumnChoice::AddParameters(info.parameters);
  AddShowParameter(info.parameters);
  return *CheckParameters(info, given);
}

CsvRow Row(CsvRows& reader, std::string_view line) {
  EXPECT_TRUE(reader.Split(line));
  return reader.row();
}

TEST(Number, FiniteDecimalsOnly) {
  const std::pair<const char*, double> good[] = {
      {"0", 0},         {"-1.5", -1.5},
      {"+2", 2},        {"1e3", 1000},
      {".5", 0.5},      {"5.", 5},
      {"007", 7},       {"1E-2", 0.01},
      {"1e308", 1e308}, {"-1e-300", -1e-300},
      {"0.1", 0.1},     {"1e-400", 0},
      {"-1e-310", 0},   {"4.9e-324", 0},
      {"-0.0", 0},      {"2.2250738585072014e-308", std::numeric_limits<double>::min()}};
  for (const auto& [text, expected] : good) {
    double number = 77;
    EXPECT_TRUE(ParseNumber(text, number)) << text;
    EXPECT_EQ(number, expected) << text;
    EXPECT_FALSE(number == 0 && std::signbit(number)) << text;
  }
  for (const char* bad :
       {"",       "+",    "-",  ".",  "e5",  "nan", "-nan", "inf", "-inf", "infinity", "1e309",
        "-1e400", "0x10", "1 ", " 1", "1,5", "--1", "+-1",  "1e",  "1e+",  "one"}) {
    double number = 0;
    EXPECT_FALSE(ParseNumber(bad, number)) << bad;
  }
}

TEST(Parameters, DeclaredAndReadAgain) {
  JobInfo info;
  info.parameters = {IntegerParameter("least", -3, -5, 5, "help of least"),
                     TextParameter("name", "x", "help of name"),
                     TextParameter("form", "csv", "", {"csv", "ncdc"})};
  const auto values = CheckParameters(info, {});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(IntegerOf(*values, "least"), -3);
  EXPECT_EQ(values->at("name"), "x");
  EXPECT_EQ(info.parameters[0].help, "help of least");
  EXPECT_EQ(info.parameters[1].help, "help of name");
  EXPECT_EQ(IntegerOf(*CheckParameters(info, {{"least", "5"}}), "least"), 5);
  EXPECT_EQ(CheckParameters(info, {{"least", "-6"}}).status().message(),
            "parameter 'least' is '-6'; it must be a whole number from -5 to 5");
  EXPECT_FALSE(CheckParameters(info, {{"form", "tsv"}}).ok());
}

TEST(Parameters, NumbersOfARangeOnly) {
  const auto read = [](const std::string& text, const NumberRange& range) {
    const auto number = NumberOf({{"x", text}}, "x", range);
    return number.ok() ? absl::StrCat(*number) : std::string(number.status().message());
  };
  const auto refused = [](const std::string& text, const std::string& range) {
    return "parameter 'x' is '" + text + "'; it must be a number" + range;
  };
  EXPECT_EQ(read("-1.5", kAnyNumber), "-1.5");
  EXPECT_EQ(read("nan", kAnyNumber), refused("nan", ""));
  EXPECT_EQ(read("", kAnyNumber), refused("", ""));
  EXPECT_EQ(read("0", kFromZeroOn), "0");
  EXPECT_EQ(read("-1e-9", kFromZeroOn), refused("-1e-9", " from 0 on"));
  EXPECT_EQ(read("1e-9", kAboveZero), "1e-09");
  EXPECT_EQ(read("0", kAboveZero), refused("0", " above 0"));
  EXPECT_EQ(read("1", {0, 1}), "1");
  EXPECT_EQ(read("1.01", {0, 1}), refused("1.01", " from 0 to 1"));
  EXPECT_EQ(read("inf", {0, 1}), refused("inf", " from 0 to 1"));
}

TEST(CsvColumns, ByNameAndByNumber) {
  auto values = Values({{"header", "a,\"b,c\",7"}, {"column", "b,c"}});
  auto columns = CsvColumns::Of(values);
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ(columns->count(), 3u);
  EXPECT_EQ(*columns->Require(values, "column"), 1u);
  EXPECT_EQ(columns->NameOf(1), "b,c");
  values["column"] = "3";
  EXPECT_EQ(*columns->Require(values, "column"), 2u);
  values["column"] = "7";  // a name goes before a number
  EXPECT_EQ(*columns->Require(values, "column"), 2u);
  CsvRows reader;
  EXPECT_TRUE(columns->IsHeader(Row(reader, "a,\"b,c\",7")));
  EXPECT_FALSE(columns->IsHeader(Row(reader, "a,b,7")));
  EXPECT_TRUE(columns->Fits(Row(reader, "1,2,3")));
  EXPECT_FALSE(columns->Fits(Row(reader, "1,2")));
  EXPECT_FALSE(columns->Fits(Row(reader, "1,2,3,4")));
  EXPECT_EQ(columns->misfit(), "expected 3 fields");
}

// As `head -n1` gives the line of a spreadsheet's file, whose rows come without either.
TEST(CsvColumns, AHeaderMayHaveAByteOrderMarkAndACarriageReturn) {
  const auto values = Values({{"header",
                               "\xEF\xBB\xBF"
                               "id,name\r"},
                              {"column", "id"}});
  auto columns = CsvColumns::Of(values);
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ(*columns->Require(values, "column"), 0u);
  EXPECT_EQ(columns->NameOf(1), "name");
  CsvRows reader;
  EXPECT_TRUE(columns->IsHeader(Row(reader, "id,name")));
}

TEST(CsvColumns, WithoutAHeaderRowsNeedWhatIsAskedFor) {
  const auto values = Values({{"column", "2"}, {"key", "4"}});
  const auto choice = ColumnChoice::Of(values);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->begin, 1u);
  EXPECT_EQ(choice->end, 2u);
  EXPECT_EQ(choice->key, 3u);
  EXPECT_EQ(choice->columns.NameOf(1), "2");
  CsvRows reader;
  EXPECT_TRUE(choice->columns.Fits(Row(reader, "1,2,3,4")));
  EXPECT_TRUE(choice->columns.Fits(Row(reader, "1,2,3,4,5")));
  EXPECT_FALSE(choice->columns.Fits(Row(reader, "1,2,3")));
  EXPECT_FALSE(choice->columns.IsHeader(Row(reader, "1,2,3,4")));
  EXPECT_EQ(choice->columns.misfit(), "expected at least 4 fields");
}

TEST(CsvColumns, AllColumnsWhenTheirNumberIsKnown) {
  const auto choice = ColumnChoice::Of(Values({{"columns", "5"}}));
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->begin, 0u);
  EXPECT_EQ(choice->end, 5u);
  EXPECT_FALSE(choice->key.has_value());
}

TEST(CsvColumns, WrongParametersAreNamed) {
  const std::pair<Given, const char*> wrong[] = {
      {{}, "nothing says which columns"},
      {{{"key", "1"}}, "'key' needs 'column'"},
      {{{"column", "0"}}, "parameter 'column' is '0'"},
      {{{"column", "-1"}}, "parameter 'column' is '-1'"},
      {{{"column", "b"}}, "parameter 'column' is 'b'"},
      {{{"column", "3"}, {"columns", "2"}}, "from 1 to 2"},
      {{{"column", "c"}, {"header", "a,b"}}, "a name of the header"},
      {{{"column", "1"}, {"key", "c"}, {"header", "a,b"}}, "parameter 'key' is 'c'"},
      {{{"header", "a,b,a"}}, "'a' twice"},
      {{{"header", "a,\"b"}}, "not a line of names"},
      {{{"header", "a\tb"}}, "not a line of names"},
      {{{"header", "a,b"}, {"columns", "3"}}, "'header' has 2 names"}};
  for (const auto& [given, words] : wrong) {
    const auto choice = ColumnChoice::Of(Values(given));
    ASSERT_FALSE(choice.ok()) << words;
    EXPECT_EQ(choice.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(choice.status().message()).find(words), std::string::npos)
        << choice.status();
  }
}

absl::Status Check(CsvCheck& check, std::string_view text, std::size_t piece) {
  check.BeginFile("rows");
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (absl::Status status = check.Add(text.substr(at, piece)); !status.ok()) return status;
  }
  return check.EndFile();
}

TEST(CsvCheck, SumsUpWhateverTheOrderAndThePieces) {
  CsvCheck one(2, DataOrder::kAny), other(2, DataOrder::kAny), different(2, DataOrder::kAny);
  ASSERT_TRUE(Check(one, "a,1\na,2\n\"b,b\",3\n", 1).ok());
  ASSERT_TRUE(Check(other, "\"b,b\",3\na,2\na,1\n", 100).ok());
  ASSERT_TRUE(Check(different, "a,1\na,2\nb,3\n", 5).ok());
  EXPECT_EQ(one.Summary().records, 3);
  EXPECT_EQ(one.Summary().bytes, 16);
  EXPECT_EQ(one.Summary().repeated_keys, 1);
  EXPECT_EQ(one.Summary().checksum, other.Summary().checksum);
  EXPECT_NE(one.Summary().checksum, different.Summary().checksum);
}

TEST(CsvCheck, NamesWhatIsWrong) {
  const std::pair<std::string, std::string> wrong[] = {
      {"a,1\nb\n", "rows: row 1 (at byte 4) has 1 fields instead of 2"},
      {"a,1\n\"b,2\n", "row 1 (at byte 4) is not a CSV row"},
      {"b,1\na,2\n", "row 1 (at byte 4) has key 'a', less than 'b'"},
      {"a,1\nb,2", "row 1 (at byte 4) has no newline"}};
  for (const auto& [text, words] : wrong) {
    for (const std::size_t piece : {1u, 3u, 100u}) {
      CsvCheck check(2, DataOrder::kByKey);
      const absl::Status status = Check(check, text, piece);
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
    }
  }
}

TEST(FirstLines, OfAllPartsInTheOrderAskedFor) {
  const testing::ScratchFile one("b\nd\n"), two("a\nc\nc\n");
  const auto shown = [&](const char* most, auto before) {
    std::ostringstream out;
    EXPECT_TRUE(
        PresentFirstLines({one.path(), two.path()}, Values({{"show", most}}), before, out).ok());
    return out.str();
  };
  EXPECT_EQ(shown("3", std::less<>()), "a\nb\nc\n");
  EXPECT_EQ(shown("2", std::greater<>()), "d\nc\n");
  EXPECT_EQ(shown("100", std::less<>()), "a\nb\nc\nc\nd\n");
  EXPECT_EQ(shown("0", std::less<>()), "");
}

TEST(ColumnChoice, LinesGoInTheOrderOfTheColumnsAndKeysInTheirs) {
  const auto first = [](const Given& given, std::string_view a, std::string_view b) {
    const auto order = ColumnChoice::Of(Values(given))->OrderOfLines();
    return order(a, b) && !order(b, a);
  };
  EXPECT_TRUE(first({{"columns", "12"}}, "2\t7", "10\t3"));
  EXPECT_TRUE(first({{"header", "user,page"}}, "user\t1", "page\t9"));
  EXPECT_TRUE(
      first({{"header", "user,page"}, {"column", "user"}, {"key", "page"}}, "a\t9", "b\t1"));
}

TEST(RandomNumbers, RanksStayInRangeAndLeanWithTheSkew) {
  EXPECT_EQ(SkewedRank(0, 0.5, 10), 0u);
  EXPECT_EQ(SkewedRank(~std::uint64_t{0}, 0, 10), 9u);
  EXPECT_EQ(SkewedRank(~std::uint64_t{0}, kSkewMax, 10), 9u);
  int even = 0, leaning = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    even += SkewedRank(RandomOf(1, i, 0), 0, 100) < 50 ? 1 : 0;
    leaning += SkewedRank(RandomOf(1, i, 0), 0.5, 100) < 50 ? 1 : 0;
  }
  EXPECT_NEAR(even, 5000, 200);
  EXPECT_NEAR(leaning, 7071, 200);  // 2^(s-1)
  for (const double skew : {-0.1, 0.96, std::nan("")}) {
    EXPECT_FALSE(CheckSkew({.seed = 1, .skew = skew}).ok()) << skew;
  }
}

}  // namespace
}  // namespace weir
