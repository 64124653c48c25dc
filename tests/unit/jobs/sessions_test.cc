#include "jobs/sessions/sessions.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/sessions/find_sessions.h"
#include "jobs/testing/in_process_job.h"

namespace weir::sessions {
namespace {

using testing::EvenCut;
using testing::RunJob;
using testing::ScratchFile;

absl::StatusOr<std::vector<std::string>> RunSessions(const std::string& text,
                                                     const std::string& gap, int mappers = 1,
                                                     int reducers = 1, int slots = 1) {
  const ScratchFile file(text);
  auto program = MakeDefinition()->MakeProgram({{"gap", gap}});
  if (!program.ok()) return program.status();
  return RunJob(**program, EvenCut({file.path()}, mappers, reducers, slots));
}

TEST(Sessions, AreCutWhereThePauseIsLongerThanTheGap) {
  const auto parts = RunSessions(
      "bob,100,home\n"
      "ann,50,home\n"
      "bob,131,cart\n"  // 31 after the last
      "ann,80,faq\n"    // 30 after the last
      "bob,90,login\n",
      "30");
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0],
            "ann,50,80,2,home,faq\n"
            "bob,90,100,2,login,home\n"
            "bob,131,131,1,cart,cart\n");
}

TEST(Sessions, EventsOfOneMomentStayInTheOrderOfTheInput) {
  const auto parts = RunSessions("u,7,first\nu,7,second\nu,7,third\n", "0");
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0], "u,7,7,3,first,third\n");
}

TEST(Sessions, TimesMayBeNegativeAndFarApart) {
  const std::string first = "-9223372036854775808";
  const std::string last = "9223372036854775807";
  const auto parts = RunSessions("u," + last + "\nu," + first + "\n", last);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0],
            "u," + first + "," + first + ",1,,\n" + "u," + last + "," + last + ",1,,\n");
}

TEST(Sessions, FieldsAreQuotedWhereTheyMustBe) {
  const auto parts = RunSessions("\"Smith, J\",1,\"say \"\"hi\"\"\"\n", "5");
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0], "\"Smith, J\",1,1,1,\"say \"\"hi\"\"\",\"say \"\"hi\"\"\"\n");
}

TEST(Sessions, BadRowsAreNamed) {
  for (const std::string row : {"user", ",5", "u,5s", "u,", "", "u,9223372036854775808"}) {
    const auto parts = RunSessions("ok,1\n" + row + "\n", "5");
    const auto bad = BadRecordOf(parts.status());
    ASSERT_TRUE(bad.has_value()) << row << ": " << parts.status();
    EXPECT_EQ(bad->byte_offset, 5) << row;
    EXPECT_EQ(bad->content, row);
  }
}

// Against sorting and cutting in memory, for any cut of the job.
RC_GTEST_PROP(SessionsProperty, EqualASequentialRun, ()) {
  const auto events = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 5), rc::gen::inRange(0, 60)));
  const int gap = *rc::gen::inRange(0, 10);
  std::string text;
  std::map<std::string, std::vector<std::pair<int, std::string>>> by_user;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::string user = "user" + std::to_string(events[i].first);
    const std::string page = "p" + std::to_string(i);
    text += user + "," + std::to_string(events[i].second) + "," + page + "\n";
    by_user[user].emplace_back(events[i].second, page);
  }
  std::vector<std::string> expected;
  for (auto& [user, of_user] : by_user) {
    std::stable_sort(of_user.begin(), of_user.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= of_user.size(); ++i) {
      if (i < of_user.size() && of_user[i].first - of_user[i - 1].first <= gap) continue;
      expected.push_back(user + "," + std::to_string(of_user[begin].first) + "," +
                         std::to_string(of_user[i - 1].first) + "," + std::to_string(i - begin) +
                         "," + of_user[begin].second + "," + of_user[i - 1].second);
      begin = i;
    }
  }
  const auto parts = RunSessions(text, std::to_string(gap), *rc::gen::inRange(1, 5),
                                 *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4));
  RC_ASSERT(parts.ok());
  std::vector<std::string> got;
  for (const std::string& part : *parts) {
    std::istringstream lines(part);
    for (std::string line; std::getline(lines, line);) got.push_back(line);
  }
  // Of one user in order, users in any.
  std::stable_sort(got.begin(), got.end(), [](const std::string& a, const std::string& b) {
    return a.substr(0, a.find(',')) < b.substr(0, b.find(','));
  });
  RC_ASSERT(got == expected);
}

TEST(Sessions, PresentsTotals) {
  const ScratchFile part("\"a,b\",1,5,3,x,y\n\"a,b\",50,50,1,z,z\nc,0,0,1,,\n");
  std::ostringstream out;
  const std::vector<std::string> paths = {part.path()};
  EXPECT_TRUE(MakeDefinition()->Present(paths, {}, out).ok());
  EXPECT_EQ(out.str(),
            "3 sessions of 2 users, 5 events\na session has 1.7 events and lasts 1.3 on average\n");
}

}  // namespace
}  // namespace weir::sessions
