// Rows of the usual form are what CsvRows would make of them, and so are those beside them.

#include "jobs/weather/csv_readings.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "jobs/api/readers.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/run_job.h"
#include "jobs/weather/daily_maximum.h"
#include "jobs/weather/mean_of_maxima.h"

namespace weir::weather {
namespace {

// The same job, whose rows are all split into fields.
template <typename FirstLayer>
struct OfFields : FirstLayer {
  using Reader = CsvRows;
};

// A job for which the order of rows matters.
struct LastOfDay : DailyMaximumOfCsv {
  static constexpr bool kCommutative = false;
  void Combine(Value& into, const Value& from) const { into = from; }
};

template <typename FirstLayer>
class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "weather";
    info_.rates = {4.5e-9, 0.026, {{9e-9, 0.65}, {11e-9, 0.7}}};
  }
  const JobInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return MakeChainProgram(FirstLayer(), MeanOfMaxima());
  }
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

std::vector<std::string> Rejected(const testing::JobResult& result) {
  std::vector<std::string> rejected;
  for (const BadRecord& bad : result.bad_records) {
    rejected.push_back(std::to_string(bad.byte_offset) + " " + bad.reason + ": " + bad.content);
  }
  return rejected;
}

// What of the results differs; empty: nothing does.
template <typename FirstLayer = DailyMaximumOfCsv>
std::string DiffersFromFields(const testing::JobRun& run) {
  const testing::JobResult readings = RunJob(Definition<FirstLayer>(), run);
  const testing::JobResult fields = RunJob(Definition<OfFields<FirstLayer>>(), run);
  if (readings.error_code != fields.error_code) return "error";
  if (readings.output != fields.output) return "output";
  if (readings.counters != fields.counters) return "counters";
  return Rejected(readings) != Rejected(fields) ? "rejected records" : "";
}

rc::Gen<std::string> OneOf(std::vector<std::string> usual, std::vector<std::string> others) {
  return rc::gen::weightedOneOf<std::string>(
      {{30, rc::gen::elementOf(std::move(usual))}, {1, rc::gen::elementOf(std::move(others))}});
}

rc::Gen<std::string> Rows() {
  const std::string long_name(100, 's');
  return rc::gen::map(
      rc::gen::tuple(
          OneOf({"s", "02000099999", "exactly-fifteen", "sixteen-together", "seventeen-of-them"},
                {"", "a\tb", "a\"b", "\"quoted\"", "\"a,b\"", "\"open", long_name, long_name + "s",
                 "a\x7f", "\xc3\xa9", std::string(1, '\0')}),
          OneOf({"1990-01-01", "1990-01-02", "2024-02-29"},
                {"19900101", "1990-02-30", "1990-1-01", "", "1990-01-011", "\"1990-01-01\""}),
          OneOf({"00:00", "23:59", "99:99"},
                {"", "0:00", "00:0x", "x0:00", "00-00", "00:00:00", "now", "\"00:00\"", "0\"0:0",
                 "00:00,", "\x8a\x8a:00"}),
          OneOf({"12.5", "-12.5", "1.5", "-1.5", "0.0", "-0.0", "99.9", ""},
                {"100.0", "-100.5", "+1.5", "1", "1.50", "1.55", ".5", "x", "1.5 ", "1.5,",
                 "\"1.5\""}),
          OneOf({"\n", "\n", "\r\n"},
                {"\r\r\n", "\n\n", "\n,,,\n", "\nstation,date,time,temperature\n"})),
      [](const auto& row) {
        return std::apply(
            [](const auto& station, const auto& date, const auto& time, const auto& temperature,
               const auto& end) {
              return station + "," + date + "," + time + "," + temperature + end;
            },
            row);
      });
}

RC_GTEST_PROP(CsvReadingsProperty, AreWhatTheFieldsOfTheirRowsSay, ()) {
  // Of some strips, and of one that ends within a row.
  const auto rows = *rc::gen::container<std::vector<std::string>>(
      *rc::gen::element<std::size_t>(0, 3, 70, 300), Rows());
  std::string text;
  for (const std::string& row : rows) text += row;
  if (*rc::gen::arbitrary<bool>() && !text.empty()) text.pop_back();
  const testing::JobRun run{.inputs = {text},
                            .mappers = *rc::gen::inRange(1, 4),
                            .skip_bad = *rc::gen::element<std::int64_t>(0, 2, 1000)};
  RC_ASSERT(DiffersFromFields(run) == "");
}

// Each byte of a usual row in turn is any other one.
TEST(CsvReadings, EveryByteThatIsNotUsualIsSeen) {
  const std::string usual = "02000099999,1990-01-01,00:00,-12.5\n";
  for (std::size_t at = 0; at < usual.size(); ++at) {
    std::string text = usual;
    for (int c = 0; c < 256; ++c) {
      std::string row = usual;
      row[at] = static_cast<char>(c);
      text += row;
    }
    EXPECT_EQ(DiffersFromFields({.inputs = {text}, .skip_bad = 1000}), "") << at;
  }
}

// A row of a station, a day of 25 a month and an hour; one in fifty has another form.
std::string RowOf(std::mt19937_64& random, int station, int day, int hour) {
  const auto two = [](int number) { return std::to_string(100 + number).substr(1); };
  const std::uint64_t tenths = random() % 900;
  return "s" + std::to_string(station) + "," + std::to_string(1990 + day / 300) + "-" +
         two(1 + day / 25 % 12) + "-" + two(1 + day % 25) + "," + std::to_string(10 + hour) +
         (random() % 50 == 0 ? ":00:00," : ":00,") + (random() % 3 == 0 ? "-" : "") +
         std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "\n";
}

// Stations that come in an order, of hours and of stations, and in none; with so many days that
// places in the table are given up as it grows.
TEST(CsvReadings, StationsMayComeInAnyOrder) {
  std::mt19937_64 random(20261130);
  const auto row_of = [&](int station, int day, int hour) {
    return RowOf(random, station, day, hour);
  };
  for (const int stations : {1, 30, 1500}) {
    std::string hours;
    std::string each;
    std::string any;
    const int days = 30000 / stations / 4;
    for (int day = 0; day < days; ++day) {
      for (int hour = 0; hour < 4; ++hour) {
        for (int station = 0; station < stations; ++station) {
          // One in a hundred is missing.
          if (random() % 100 != 0) hours += row_of(station, day, hour);
          any += row_of(static_cast<int>(random() % static_cast<unsigned>(stations)),
                        static_cast<int>(random() % static_cast<unsigned>(days)), hour);
        }
      }
    }
    for (int station = 0; station < stations; ++station) {
      for (int row = 0; row < days * 4; ++row) each += row_of(station, row / 4, row % 4);
    }
    for (const std::string& text : {hours, each, any, hours + any + each + hours}) {
      EXPECT_EQ(DiffersFromFields({.inputs = {text}, .slots = 2}), "") << stations;
      EXPECT_EQ(DiffersFromFields<LastOfDay>({.inputs = {text}}), "") << stations;
    }
  }
}

// Of a table that has outgrown the cache, where pairs wait (KeyBatch) while others of their keys
// might go past them.
TEST(CsvReadings, TheOrderOfRowsIsKeptForJobsThatNeedIt) {
  constexpr int kStations = 400;
  constexpr int kDays = 60;
  std::mt19937_64 random(20261130);
  std::string text;
  for (int hour = 0; hour < kDays * 6; ++hour) {
    for (int station = 0; station < kStations; ++station) {
      text += RowOf(random, station, hour / 6, hour % 6);
    }
  }
  EXPECT_EQ(DiffersFromFields<LastOfDay>({.inputs = {text}}), "");
}

// What no row has been like yet is no date.
TEST(CsvReadings, TheFirstRowMayHaveAnyBytesForADate) {
  const std::string text = "s," + std::string(16, '\0') + ",1.5\ns,0001-01-01,00:00,2.5\n";
  EXPECT_EQ(DiffersFromFields({.inputs = {text}, .skip_bad = 1}), "");
}

// Where many rows have another form they are left to CsvRows, for longer each time.
TEST(CsvReadings, RowsOfOtherFormsMayComeInAnyNumber) {
  std::string text;
  int row = 0;
  for (const int each : {3000, 1, 2, 9, 10, 30, 3000}) {
    for (int i = 0; i < 3000; ++i, ++row) {
      const char* const time = i % each == 0 ? "10:00:00" : "10:00";
      text += "station-" + std::to_string(row % 7) + ",2024-02-0" + std::to_string(1 + row % 9) +
              "," + time + "," + std::to_string(row % 90) + "." + std::to_string(row % 10) + "\n";
    }
  }
  EXPECT_EQ(DiffersFromFields({.inputs = {text}}), "");
  EXPECT_EQ(DiffersFromFields({.inputs = {text}, .mappers = 5, .slots = 2}), "");
}

// Two strips of CsvReadings, and four of CsvRows.
TEST(CsvReadings, ARowMayBeLongerThanAStrip) {
  const std::string usual = "station,2024-02-01,10:00,1.5\n";
  const std::string text =
      usual + "station,2024-02-02," + std::string(5000, 't') + ",2.5\n" + usual;
  EXPECT_EQ(DiffersFromFields({.inputs = {text}}), "");
}

}  // namespace
}  // namespace weir::weather
