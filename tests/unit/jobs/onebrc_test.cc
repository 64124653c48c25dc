#include "jobs/onebrc/onebrc.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/scan/tenths.h"
#include "jobs/onebrc/temperature.h"
#include "jobs/testing/in_process_job.h"

namespace weir::onebrc {
namespace {

using testing::EvenCut;
using testing::RunJob;
using testing::ScratchFile;

struct Row {
  std::string station;
  int tenths = 0;
};

std::string Degrees(long tenths) {
  std::string text = tenths < 0 ? "-" : "";
  tenths = std::labs(tenths);
  return text + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

// The oracle: a map, and a mean found by trying whole tenths.
std::string Expected(const std::vector<Row>& rows) {
  struct Seen {
    long sum = 0, count = 0, min = 999, max = -999;
  };
  std::map<std::string, Seen> stations;
  for (const Row& row : rows) {
    Seen& seen = stations[row.station];
    seen.sum += row.tenths;
    ++seen.count;
    seen.min = std::min<long>(seen.min, row.tenths);
    seen.max = std::max<long>(seen.max, row.tenths);
  }
  std::string text = "{";
  for (const auto& [station, seen] : stations) {
    // The greatest tenth t with t - 1/2 <= mean.
    long mean = -1001;
    while ((2 * (mean + 1) - 1) * seen.count <= 2 * seen.sum) ++mean;
    text += (text.size() > 1 ? ", " : "") + station + "=" + Degrees(seen.min) + "/" +
            Degrees(mean) + "/" + Degrees(seen.max);
  }
  return text + "}\n";
}

std::unique_ptr<JobProgram> Program() { return *MakeDefinition()->MakeProgram({}); }

std::string Shown(const std::vector<std::string>& parts) {
  std::vector<std::unique_ptr<ScratchFile>> files;
  std::vector<std::string> paths;
  for (const std::string& part : parts) {
    files.push_back(std::make_unique<ScratchFile>(part));
    paths.push_back(files.back()->path());
  }
  std::ostringstream out;
  EXPECT_TRUE(MakeDefinition()->Present(paths, {}, out).ok());
  return out.str();
}

std::string Summarized(const std::string& text, int mappers = 2, int reducers = 2, int slots = 2) {
  const ScratchFile file(text);
  const auto parts = RunJob(*Program(), EvenCut({file.path()}, mappers, reducers, slots));
  EXPECT_TRUE(parts.ok()) << parts.status();
  return parts.ok() ? Shown(*parts) : "";
}

TEST(OneBrc, EmptyInput) { EXPECT_EQ(Summarized(""), "{}\n"); }

TEST(OneBrc, MeansAreRoundedHalfUpAndZeroHasNoSign) {
  EXPECT_EQ(Summarized("Ab;0.1\nAb;0.0\nZ\xc3\xbcrich;-0.1\nZ\xc3\xbcrich;0.0\nB;-99.9\nB;99.9\n"
                       "C;-0.3\nC;0.2"),
            "{Ab=0.0/0.1/0.1, B=-99.9/0.0/99.9, C=-0.3/0.0/0.2, Z\xc3\xbcrich=-0.1/0.0/0.0}\n");
  EXPECT_EQ(Summarized("A;-0.0\n"), "{A=0.0/0.0/0.0}\n");
}

TEST(OneBrc, NamesOfEveryLengthThatBeginAlike) {
  std::vector<Row> rows;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    rows.push_back({std::string(static_cast<std::size_t>(i % 100 + 1), 's'), i * 37 % 1999 - 999});
    text += rows.back().station + ";" + Degrees(rows.back().tenths) + "\n";
  }
  EXPECT_EQ(Summarized(text, 3, 3, 2), Expected(rows));
}

TEST(OneBrc, ManyStations) {
  std::vector<Row> rows;
  std::string text;
  for (int i = 0; i < 50000; ++i) {
    rows.push_back({"station-" + std::to_string(i * 31 % 20011), i % 1999 - 999});
    text += rows.back().station + ";" + Degrees(rows.back().tenths) + "\n";
  }
  EXPECT_EQ(Summarized(text, 2, 3, 3), Expected(rows));
}

TEST(OneBrc, PrefixOfAnotherStationComesFirst) {
  EXPECT_EQ(Summarized("a;1.0\na!;2.0\na>;3.0\n"),
            "{a=1.0/1.0/1.0, a!=2.0/2.0/2.0, a>=3.0/3.0/3.0}\n");
}

TEST(OneBrc, MalformedRowIsNamedWithFileOffsetAndContent) {
  std::string good;
  for (int i = 0; i < 30000; ++i) good += "Hamburg;12.0\n";
  for (const std::string bad : {"Hamburg;12",
                                "Hamburg;12.",
                                "Hamburg;1.23",
                                "Hamburg;123.4",
                                "Hamburg;+1.0",
                                "Hamburg;.5",
                                "Hamburg;-.5",
                                "Hamburg;1.0\r",
                                "Hamburg",
                                ";1.0",
                                "",
                                "a;b;1.0",
                                "Hamburg;1,0",
                                "Hamburg; 1.0",
                                "Hamburg;1.0 ",
                                "Hamburg;--1.0",
                                "Hamburg;-100.0",
                                "Hamburg;",
                                "Hamburg;1:0",
                                "Hamburg;\x05.0",
                                "Hamburg;1.\xb5"}) {
    const ScratchFile file(good + bad + "\n" + good);
    const auto parts = RunJob(*Program(), EvenCut({file.path()}, 1, 1, 3));
    const auto record = BadRecordOf(parts.status());
    ASSERT_TRUE(record.has_value()) << bad << ": " << parts.status();
    EXPECT_EQ(record->file, file.path());
    EXPECT_EQ(record->byte_offset, static_cast<std::int64_t>(good.size())) << bad;
    EXPECT_FALSE(record->reason.empty());
    if (bad.size() > 3 && bad[3] == 'b') {
      EXPECT_EQ(record->content.substr(0, 7), "Hamburg");
    }
  }
}

TEST(OneBrc, StationsOfMoreThanAHundredBytesAreRejected) {
  EXPECT_NE(Summarized(std::string(100, 'x') + ";1.0\n"), "");
  const ScratchFile file(std::string(101, 'x') + ";1.0\n");
  EXPECT_TRUE(BadRecordOf(RunJob(*Program(), EvenCut({file.path()}, 1, 1, 1)).status()));
}

RC_GTEST_PROP(OneBrcProperty, AnyCutGivesTheSameSummary, ()) {
  const auto picks = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 30), rc::gen::inRange(-999, 1000)));
  std::vector<Row> rows;
  std::string text;
  for (const auto& [station, tenths] : picks) {
    rows.push_back({std::string(static_cast<std::size_t>(station + 1), 'q'), tenths});
    text += rows.back().station + ";" + Degrees(tenths) + "\n";
  }
  if (!text.empty() && *rc::gen::arbitrary<bool>()) text.pop_back();
  RC_ASSERT(Summarized(text, *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 5),
                       *rc::gen::inRange(1, 4)) == Expected(rows));
}

}  // namespace
}  // namespace weir::onebrc
