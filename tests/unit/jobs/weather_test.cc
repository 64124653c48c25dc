#include "jobs/weather/weather.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/testing/in_process_job.h"
#include "jobs/weather/mean_of_maxima.h"
#include "jobs/weather/reading.h"

namespace weir::weather {
namespace {

using testing::EvenCut;
using testing::EvenKeyEnds;
using testing::RunJob;
using testing::ScratchFile;

std::unique_ptr<JobProgram> Program(const std::string& format) {
  const auto definition = MakeDefinition();
  const auto values = CheckParameters(definition->info(), {{"format", format}});
  return *definition->MakeProgram(*values);
}

// All parts, one after the other. Requires: one reducer in the last layer, or order does not
// matter.
absl::StatusOr<std::string> RunOn(const std::string& text, const std::string& format,
                                  int mappers = 1, int first = 1, int second = 1, int slots = 1) {
  const ScratchFile file(text);
  auto cut = EvenCut({file.path()}, mappers, second, slots);
  cut.inner_key_ends = {EvenKeyEnds(first)};
  const auto parts = RunJob(*Program(format), cut);
  if (!parts.ok()) return parts.status();
  std::string all;
  for (const std::string& part : *parts) all += part;
  return all;
}

// A record of NCDC with what is read of it in place.
std::string Ncdc(const std::string& station, const std::string& date,
                 const std::string& temperature, char quality) {
  std::string record(105, '0');
  record.replace(4, 11, station);
  record.replace(15, 8, date);
  record.replace(87, 5, temperature);
  record[92] = quality;
  return record + "\n";
}

// The numbers that tables take are the bytes that sections hold.
RC_GTEST_PROP(WeatherProperty, ShortKeysAreTheBytesOfTheirCodec, ()) {
  const auto station = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', 127));
  const Date date = reading_internal::DateOf(*rc::gen::inRange(1, 9999), *rc::gen::inRange(1, 13),
                                             *rc::gen::inRange(1, 32));
  const auto check = [](const auto& key, std::size_t bytes_max) {
    using Codec = KeyCodec<std::decay_t<decltype(key)>>;
    std::string bytes;
    Codec::Append(key, bytes);
    ShortKey numbers;
    RC_ASSERT(Codec::Short(key, numbers) == (bytes.size() <= bytes_max));
    if (bytes.size() > bytes_max) return;
    const ShortKey expected{bytes};
    RC_ASSERT(numbers.bytes() == expected.bytes());
    RC_ASSERT(numbers.word0() == expected.word0());
    RC_ASSERT(numbers.word1() == expected.word1());
  };
  check(StationDate{station, date}, ShortKey::kBytesMax);
  check(StationDay{station, date.month, date.day}, ShortKey::kBytesMax);
}

TEST(Weather, DatesThatExist) {
  Date date;
  for (const char* good : {"1901-01-01", "19010101", "2000-02-29", "20240229", "9999-12-31"}) {
    EXPECT_TRUE(ParseDate(good, date)) << good;
  }
  EXPECT_TRUE(ParseDate("2000-02-29", date));
  EXPECT_EQ(date.year, 2000);
  EXPECT_EQ(date.month, 2);
  EXPECT_EQ(date.day, 29);
  for (const char* bad :
       {"", "1901", "1901-1-01", "1900-02-29", "2023-02-29", "19010431", "1901-13-01", "1901-00-10",
        "1901-01-00", "0000-01-01", "1901/01/01", "19x10101", "1901-01-011", " 1901010"}) {
    EXPECT_FALSE(ParseDate(bad, date)) << bad;
  }
}

TEST(Weather, EveryByteOfADateThatIsNotOneIsSeen) {
  const std::string good = "2024-11-28";
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string text = good;
      text[at] = static_cast<char>(c);
      Date date;
      const bool parsed = ParseDate(text, date);
      char canonical[32];
      std::snprintf(canonical, sizeof canonical, "%04d-%02d-%02d", date.year, date.month, date.day);
      // What it takes for a date it reads back, and of digits only days that do not exist are bad.
      if (parsed) {
        ASSERT_EQ(canonical, text);
      }
      const bool is_dash = at == 4 || at == 7;
      const bool is_digit = c >= '0' && c <= '9';
      if (is_dash ? c != '-' : !is_digit) {
        ASSERT_FALSE(parsed) << at << " " << c;
      } else if (at < 4) {
        ASSERT_TRUE(parsed) << text;
      }
    }
  }
}

// What is kept of the last date changes no answer: dates again and again, with bad ones among them.
RC_GTEST_PROP(WeatherProperty, DatesAreReadAsEachByItself, ()) {
  const auto texts = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"0001-01-01", "2024-02-29", "2023-02-29", "2024-02-28", "20240229",
                               "2024-02-2", "", std::string(10, '\0'), "2024-02-29x"}));
  DateReader dates;
  for (const std::string& text : texts) {
    Date expected;
    const bool good = ParseDate(text, expected);
    const Date* const read = dates.Read(text);
    RC_ASSERT((read != nullptr) == good);
    if (good) RC_ASSERT(read->KeyBits() == expected.KeyBits());
  }
}

TEST(Weather, ControlCharactersInStationsAreSeenWhereverTheyAre) {
  const std::string_view temperature = std::string_view(",1.0").substr(1);  // as a row has it
  for (std::size_t bytes = 1; bytes <= 20; ++bytes) {
    const std::string station(bytes, ' ');
    Reading reading;
    DateReader dates;
    EXPECT_EQ(ReadCsv(station, "2024-11-28", temperature, dates, reading), "");
    for (std::size_t at = 0; at < bytes; ++at) {
      for (const char c : {'\0', '\t', '\x1f'}) {
        std::string bad = station;
        bad[at] = c;
        EXPECT_EQ(ReadCsv(bad, "2024-11-28", temperature, dates, reading),
                  "control character in the station");
      }
      std::string good = station;
      good[at] = '\xff';
      EXPECT_EQ(ReadCsv(good, "2024-11-28", temperature, dates, reading), "");
    }
  }
}

// The short way and the long one agree on all texts of up to five of these characters.
TEST(Weather, ShortTemperaturesAreReadAsAnyOthers) {
  constexpr std::string_view kCharacters = "-.0159+x";
  std::int64_t num_good = 0;
  std::vector<std::string> texts = {""};
  for (std::size_t next = 0; next < texts.size(); ++next) {
    const std::string text = texts[next];
    if (text.size() < 5) {
      for (const char c : kCharacters) texts.push_back(text + c);
    }
    std::int32_t expected = 0;
    std::int32_t tenths = 0;
    const std::string field = "," + text;
    const char* const begin = field.data() + 1;
    if (!ParseShortTenths(begin, begin + text.size(), tenths)) continue;
    ++num_good;
    ASSERT_TRUE(ParseAnyTenths(text, expected)) << text;
    ASSERT_EQ(tenths, expected) << text;
  }
  // "d.d" and "dd.d" of four digits, with a sign and without.
  EXPECT_EQ(num_good, 2 * (16 + 64));
}

TEST(Weather, TemperaturesExactToTenths) {
  const std::pair<const char*, int> good[] = {
      {"0", 0},     {"-0.0", 0},   {"+1", 10},      {"12.3", 123},     {"-12.3", -123},
      {"7.50", 75}, {"007.0", 70}, {"999.9", 9999}, {"-999.9", -9999}, {"1.10000", 11}};
  std::int32_t tenths = 0;
  const auto parsed = [&tenths](std::string_view text) {
    const std::string field = "," + std::string(text);
    return ParseTenths(std::string_view(field).substr(1), tenths);
  };
  for (const auto& [text, expected] : good) {
    EXPECT_TRUE(parsed(text)) << text;
    EXPECT_EQ(tenths, expected) << text;
  }
  for (const char* bad : {"", "-", "+", ".5", "5.", "1000", "1.25", "1e2", " 1", "1 ", "--1", "+-1",
                          "nan", "1,5", "0x1"}) {
    EXPECT_FALSE(parsed(bad)) << bad;
  }
}

TEST(Weather, MeansRoundHalfAwayFromZero) {
  EXPECT_EQ(MeanTenths({5, 2}), 3);    // 2.5
  EXPECT_EQ(MeanTenths({-5, 2}), -3);  // -2.5
  EXPECT_EQ(MeanTenths({4, 3}), 1);    // 1.33
  EXPECT_EQ(MeanTenths({5, 3}), 2);    // 1.67
  EXPECT_EQ(MeanTenths({-1, 3}), 0);
  EXPECT_EQ(MeanTenths({0, 7}), 0);
}

TEST(Weather, CsvByHand) {
  const auto out = RunOn(
      "station,date,time,temperature\r\n"
      "Ulm,2020-05-01,06:00,1.0\n"
      "Ulm,2020-05-01,12:00,11.4\n"
      "Ulm,20210501,12:00,10.1\n"
      "Ulm,2021-05-01,18:00,\n"
      "\"Bad Urach, Tal\",2020-02-29,12:00,-0.4\n"
      "Ulm2,2020-05-01,12:00,-3",
      "csv");
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, "Bad Urach, Tal\t02-29\t-0.4\nUlm\t05-01\t10.8\nUlm2\t05-01\t-3.0\n");
}

TEST(Weather, NcdcByHand) {
  const auto out = RunOn(Ncdc("02907099999", "19010101", "-0078", '1') +
                             Ncdc("02907099999", "19010101", "-0072", '1') +
                             Ncdc("02907099999", "19010101", "+0300", '2') +  // suspect
                             Ncdc("02907099999", "19010101", "+9999", '9') +  // missing
                             Ncdc("02907099999", "19020101", "+0011", '5'),
                         "ncdc");
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, "02907099999\t01-01\t-3.1\n");  // (-72 + 11) / 2 = -30.5
}

TEST(Weather, CountersTellWhatWasLeftOut) {
  const ScratchFile file(Ncdc("02907099999", "19010101", "-0078", '1') +
                         Ncdc("02907099999", "19010101", "+0300", '2') +
                         Ncdc("02907099999", "19010101", "+9999", '9'));
  testing::RecordingContext context(1);
  testing::MemoryRun run;
  ASSERT_TRUE(Program("ncdc")->Map({{file.range()}, {1.0}}, run, context).ok());
  EXPECT_EQ(context.counters["temperatures"], 1);
  EXPECT_EQ(context.counters["suspect_temperatures"], 1);
  EXPECT_EQ(context.counters["missing_temperatures"], 1);
  EXPECT_EQ(context.counters["header_lines"], 0);
}

TEST(Weather, BadLinesAreNamed) {
  const std::pair<std::string, std::string> csv[] = {
      {"Ulm,2020-05-01,12:00\n", "four fields"},
      {"Ulm,2020-05-01,12:00,1,2\n", "four fields"},
      {",2020-05-01,12:00,1\n", "no station"},
      {"Ulm,2020-05-32,12:00,1\n", "date"},
      {"Ulm,2020-05-01,12:00,warm\n", "temperature"},
      {"U\tlm,2020-05-01,12:00,1\n", "control character"},
      {std::string(101, 'u') + ",2020-05-01,12:00,1\n", "100 bytes"},
      {"\n", "four fields"}};
  const std::string good = "Ulm,2020-05-01,12:00,1.0\n";
  for (const auto& [line, reason] : csv) {
    const auto bad = BadRecordOf(RunOn(good + line + good, "csv").status());
    ASSERT_TRUE(bad.has_value()) << line;
    EXPECT_NE(bad->reason.find(reason), std::string::npos) << bad->reason;
    EXPECT_EQ(bad->byte_offset, static_cast<std::int64_t>(good.size())) << line;
  }
  const std::pair<std::string, std::string> ncdc[] = {
      {"0029029070999991901010106004+64333\n", "shorter than the 93"},
      {Ncdc("02907099999", "19010132", "+0001", '1'), "no date"},
      {Ncdc("02907099999", "19010131", " 0001", '1'), "no temperature"},
      {Ncdc("02907099999", "19010131", "+00x1", '1'), "no temperature"}};
  for (const auto& [line, reason] : ncdc) {
    const auto bad = BadRecordOf(RunOn(line, "ncdc").status());
    ASSERT_TRUE(bad.has_value()) << line;
    EXPECT_NE(bad->reason.find(reason), std::string::npos) << bad->reason;
  }
}

TEST(Weather, EmptyInputAndOnlyMissingTemperatures) {
  EXPECT_EQ(*RunOn("", "csv", 2, 3, 2, 2), "");
  EXPECT_EQ(*RunOn("Ulm,2020-05-01,12:00,\n", "csv", 2, 3, 2, 2), "");
}

TEST(Weather, PresentShowsTheFirstLinesInOrder) {
  const ScratchFile one("B\t01-01\t1.0\nC\t01-01\t1.0\n"), two("A\t01-01\t1.0\nD\t01-01\t1.0\n");
  const auto definition = MakeDefinition();
  const auto values = CheckParameters(definition->info(), {{"show", "3"}});
  ASSERT_TRUE(values.ok()) << values.status();
  std::ostringstream out;
  ASSERT_TRUE(definition->Present({one.path(), two.path()}, *values, out).ok());
  EXPECT_EQ(out.str(), "A\t01-01\t1.0\nB\t01-01\t1.0\nC\t01-01\t1.0\n");
}

RC_GTEST_PROP(WeatherProperty, AnyCutEqualsTheOracleInBothFormats, ()) {
  using Readings = std::vector<std::tuple<int, int, int, int>>;  // station, year, day, tenths
  const auto readings = *rc::gen::container<Readings>(
      rc::gen::tuple(rc::gen::inRange(0, 5), rc::gen::inRange(1901, 1905), rc::gen::inRange(1, 4),
                     rc::gen::inRange(-999, 999)));
  std::map<std::tuple<int, int, int>, int> maxima;
  std::string csv, ncdc;
  for (const auto& [station, year, day, tenths] : readings) {
    const auto [at, is_new] = maxima.emplace(std::tuple(station, year, day), tenths);
    at->second = std::max(at->second, tenths);
    char line[100];
    const int magnitude = std::abs(tenths);
    std::snprintf(line, sizeof line, "0290709999%d,%d-01-%02d,12:00,%s%d.%d\n", station, year, day,
                  tenths < 0 ? "-" : "", magnitude / 10, magnitude % 10);
    csv += line;
    std::snprintf(line, sizeof line, "%c%04d", tenths < 0 ? '-' : '+', magnitude);
    const std::string temperature = line;
    std::snprintf(line, sizeof line, "%d01%02d", year, day);
    ncdc += Ncdc("0290709999" + std::to_string(station), line, temperature, '1');
  }
  std::map<std::pair<int, int>, std::vector<int>> by_day;
  for (const auto& [key, tenths] : maxima) {
    by_day[{std::get<0>(key), std::get<2>(key)}].push_back(tenths);
  }
  std::string expected;
  for (const auto& [key, tenths] : by_day) {
    long double sum = 0;
    for (const int one : tenths) sum += one;
    // std::round rounds half away from zero as well; the quotient of so few tenths is exact enough.
    const auto mean = static_cast<int>(std::round(sum / static_cast<long double>(tenths.size())));
    char line[100];
    std::snprintf(line, sizeof line, "0290709999%d\t01-%02d\t%s%d.%d\n", key.first, key.second,
                  mean < 0 ? "-" : "", std::abs(mean) / 10, std::abs(mean) % 10);
    expected += line;
  }
  const int mappers = *rc::gen::inRange(1, 5);
  const int reducers = *rc::gen::inRange(1, 5);
  const int slots = *rc::gen::inRange(1, 4);
  RC_ASSERT(*RunOn(csv, "csv", mappers, reducers, 1, slots) == expected);
  RC_ASSERT(*RunOn(ncdc, "ncdc", mappers, reducers, 1, slots) == expected);
}

}  // namespace
}  // namespace weir::weather
