#include "runtime/base/valid_utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

#include "runtime/base/job_errors.h"

namespace weir {
namespace {

TEST(ValidUtf8Test, LeavesTextAsItIs) {
  const std::string text = "plain, Z\xc3\xbcrich, \xe2\x82\xac, \xf0\x9f\x8c\x8a\n";
  EXPECT_EQ(ValidUtf8(text), text);
  EXPECT_EQ(ValidUtf8(""), "");
}

TEST(ValidUtf8Test, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(ValidUtf8("Z\xfcrich"), "Z?rich");
  EXPECT_EQ(ValidUtf8("\xff\xfe"), "??");
  EXPECT_EQ(ValidUtf8("cut \xe2\x82"), "cut ??");
  EXPECT_EQ(ValidUtf8("\x82\xac tail"), "?? tail");
  EXPECT_EQ(ValidUtf8("overlong \xc0\xaf"), "overlong ??");
  EXPECT_EQ(ValidUtf8("surrogate \xed\xa0\x80"), "surrogate ???");
  EXPECT_EQ(ValidUtf8("beyond \xf4\x90\x80\x80"), "beyond ????");
}

TEST(OneLineTest, HasNoControlCharactersAndEndsWithAWholeOne) {
  EXPECT_EQ(OneLine("a\nb\tc\x1b[2Jd\x7f", 100), "a b c [2Jd ");
  EXPECT_EQ(OneLine("Z\xc3\xbcrich", 2), "Z");
  EXPECT_EQ(OneLine("Z\xc3\xbcrich", 3), "Z\xc3\xbc");
  EXPECT_EQ(OneLine("\xf0\x9f\x8c\x8a", 3), "");
  EXPECT_EQ(OneLine("cut \xe2\x82", 100), "cut ??");
}

TEST(EscapeControlsTest, ShowsWhatWouldSteerATerminal) {
  EXPECT_EQ(EscapeControls("a\tb \x1b[2J\r\n\x7f\x07"), "a\tb \\033[2J\\r\\n\\177\\007");
  EXPECT_EQ(EscapeControls("\xc2\x9b"
                           "2J"),
            "\\302\\2332J");
  EXPECT_EQ(EscapeControls(std::string_view("\0", 1)), "\\000");
  const std::string text = "C:\\dir 'Z\xc3\xbcrich' \xc2\xa0 \xe2\x82\xac \xff \xc2";
  EXPECT_EQ(EscapeControls(text), text);
}

TEST(EscapeControlsTest, LinesStayLines) {
  EXPECT_EQ(EscapeControlsInLines("a\tb\n\x1b[2J\r\n\nc"), "a\tb\n\\033[2J\\r\n\nc");
  EXPECT_EQ(EscapeControlsInLines(""), "");
  EXPECT_EQ(EscapeControlsInLines("\n"), "\n");
}

RC_GTEST_PROP(OneLineProperty, IsNoLongerThanItMayBeAndUtf8, (const std::string& text)) {
  const auto bytes_max = *rc::gen::inRange<std::size_t>(0, 20);
  const std::string line = OneLine(text, bytes_max);
  RC_ASSERT(line.size() <= bytes_max);
  RC_ASSERT(line == ValidUtf8(line));
}

RC_GTEST_PROP(ValidUtf8Property, MessagesWithAnyTextSurviveTheWire, (const std::string& text)) {
  const v1::JobError error = MakeJobError(job_error::kUserError, text, text);
  v1::JobError parsed;
  RC_ASSERT(parsed.ParseFromString(error.SerializeAsString()));
  RC_ASSERT(parsed.message() == ValidUtf8(text));
}

}  // namespace
}  // namespace weir
