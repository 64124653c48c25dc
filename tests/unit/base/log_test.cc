#include "runtime/base/log.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(FormatLogLine, TextQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "Worker registered",
                          {{"worker", "w1"}, {"slots", 4}, {"path", "/a b"}, {"none", ""}}),
            "Worker registered worker=w1 slots=4 path=\"/a b\" none=\"\"");
}

TEST(FormatLogLine, JsonEscapesWhateverAPeerSent) {
  EXPECT_EQ(FormatLogLine(LogFormat::kJson, "Bad \"frame\"", {{"peer", "a\nb\\\x01"}}),
            R"("Bad \"frame\"","peer":"a\nb\\\u0001")");
}

TEST(SetUpLogging, WritesOneJsonObjectALine) {
  testing::internal::CaptureStderr();
  SetUpLogging(LogFormat::kJson, LogLevel::kInfo);
  LogInfo("Job accepted", {{"job", "j-1"}});
  SetUpLogging(LogFormat::kText, LogLevel::kWarning);
  LogInfo("Not shown");
  LogError("Shown");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find(R"("level":"info","msg":"Job accepted","job":"j-1"})"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("Not shown"), std::string::npos);
  EXPECT_NE(text.find(" E Shown\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace weir
