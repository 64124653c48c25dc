#include <gtest/gtest.h>

#include <string>

#include "jobs/api/bad_record.h"
#include "jobs/api/job_definition.h"
#include "jobs/api/step_error.h"
#include "jobs/wordcount/wordcount.h"

namespace weir {
namespace {

JobInfo Info() {
  JobInfo info;
  info.name = "sort";
  ParameterInfo top;
  top.name = "top";
  top.type = ParameterInfo::Type::kInteger;
  top.default_value = "10";
  top.max = 100;
  ParameterInfo order;
  order.name = "order";
  order.default_value = "up";
  order.choices = {"up", "down"};
  info.parameters = {top, order};
  return info;
}

std::string ErrorOf(const std::string& name, const std::string& value) {
  const auto values = CheckParameters(Info(), {{name, value}});
  EXPECT_FALSE(values.ok());
  return std::string(values.status().message());
}

TEST(CheckParameters, FillsInDefaultsAndKeepsWhatIsGiven) {
  const auto values = CheckParameters(Info(), {{"order", "down"}});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(*values, (ParameterValues{{"order", "down"}, {"top", "10"}}));
}

TEST(CheckParameters, SaysWhatIsLegal) {
  for (const char* bad : {"-1", "101", "many", "", "1.5", "99999999999999999999"}) {
    EXPECT_NE(ErrorOf("top", bad).find("from 0 to 100"), std::string::npos) << bad;
  }
  EXPECT_NE(ErrorOf("order", "sideways").find("up, down"), std::string::npos);
  EXPECT_NE(ErrorOf("tpo", "1").find("Did you mean 'top'"), std::string::npos);
  EXPECT_NE(ErrorOf("colour", "1").find("top, order"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(100000, 'x'), "1").find("has no parameter"), std::string::npos);
  EXPECT_FALSE(CheckParameters(Info(), {{"top", "1"}, {"top", "2"}}).ok());
  JobInfo bare;
  bare.name = "bare";
  EXPECT_FALSE(CheckParameters(bare, {{"top", "1"}}).ok());
}

TEST(CheckParameters, DefaultsOfTheJobsAreLegal) {
  const auto job = wordcount::MakeDefinition();
  const auto values = CheckParameters(job->info(), {});
  ASSERT_TRUE(values.ok());
  std::vector<std::pair<std::string, std::string>> given(values->begin(), values->end());
  EXPECT_TRUE(CheckParameters(job->info(), given).ok());
}

TEST(NamedErrors, TravelInAStatus) {
  const BadRecord record = MakeBadRecord("/a\nb", 1 << 30, std::string("x\0\n", 3), "no good");
  EXPECT_EQ(record.content, "x\\000\\n");
  const auto back = BadRecordOf(BadRecordError(record));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->file, record.file);
  EXPECT_EQ(back->byte_offset, record.byte_offset);
  EXPECT_EQ(back->content, record.content);
  EXPECT_EQ(back->reason, record.reason);
  EXPECT_FALSE(BadRecordOf(absl::InternalError("x")).has_value());

  const StepError error{"CODE", "what", "do", "/file\n"};
  const auto named = StepErrorOf(StepErrorStatus(absl::StatusCode::kNotFound, error));
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->code, "CODE");
  EXPECT_EQ(named->file, "/file\n");
  EXPECT_FALSE(StepErrorOf(BadRecordError(record)).has_value());
}

TEST(NamedErrors, ShownContentIsBounded) {
  EXPECT_EQ(MakeBadRecord("f", 0, std::string(10000, 'x'), "r").content.size(),
            static_cast<std::size_t>(kBadRecordShownBytesMax));
}

}  // namespace
}  // namespace weir
