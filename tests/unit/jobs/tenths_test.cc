#include "jobs/api/scan/tenths.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {
namespace {

// The text within others, as a field of a row lies.
bool Parsed(const std::string& text, char before, std::string_view behind, std::int32_t& tenths) {
  const std::string row = before + text + std::string(behind);
  const char* const begin = row.data() + 1;
  return ParseShortTenths(begin, begin + text.size(), tenths);
}

TEST(Tenths, EveryShortNumberIsParsedAndWrittenBack) {
  for (int tenths = -999; tenths <= 999; ++tenths) {
    const int magnitude = std::abs(tenths);
    const std::string text = (tenths < 0 ? "-" : "") + std::to_string(magnitude / 10) + "." +
                             std::to_string(magnitude % 10);
    // What lies before a number is not of it, whatever it is.
    for (const char before : {';', ',', '9', '-', '\0', '\xff'}) {
      std::int32_t parsed = 0;
      ASSERT_TRUE(Parsed(text, before, "\n", parsed)) << before << text;
      EXPECT_EQ(parsed, tenths);
    }
    std::string written;
    AppendTenths(tenths, written);
    EXPECT_EQ(written, text);
  }
}

TEST(Tenths, LeadingZerosAndASignedZeroAreShortNumbersToo) {
  std::int32_t tenths = 1;
  EXPECT_TRUE(Parsed("-0.0", ';', "\n", tenths));
  EXPECT_EQ(tenths, 0);
  EXPECT_TRUE(Parsed("-07.5", ';', "\n", tenths));
  EXPECT_EQ(tenths, -75);
}

RC_GTEST_PROP(TenthsProperty, AnythingElseIsRefused, ()) {
  const auto text = *rc::gen::container<std::string>(
      *rc::gen::inRange(0, 7),
      rc::gen::oneOf(rc::gen::elementOf(std::string("0123456789.-")), rc::gen::arbitrary<char>()));
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string_view rest = text;
  if (!rest.empty() && rest[0] == '-') rest.remove_prefix(1);
  const std::size_t n = rest.size();
  const bool legal = (n == 3 || n == 4) && digit(rest[0]) && digit(rest[n - 3]) &&
                     rest[n - 2] == '.' && digit(rest[n - 1]);
  std::int32_t tenths = 0;
  const char before = *rc::gen::elementOf(std::string(";,1-."));
  RC_ASSERT(Parsed(text, before, "\nxxxxxxxx", tenths) == legal);
}

}  // namespace
}  // namespace weir
