#include "runtime/client/flags/value_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace weir::client {
namespace {

TEST(ParseBytes, ReadsUnitsOfBothKinds) {
  EXPECT_EQ(ParseBytes("512").value(), 512);
  EXPECT_EQ(ParseBytes("64MiB").value(), 64 << 20);
  EXPECT_EQ(ParseBytes("1.5 GiB").value(), std::int64_t{3} << 29);
  EXPECT_EQ(ParseBytes("100MB").value(), 100'000'000);
  EXPECT_EQ(ParseBytes("0").value(), 0);
  for (const char* wrong :
       {"", "MiB", "-1", "1e3", "64 parsecs", "64MIB", "99999999TiB", "1.2.3"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseBytes(wrong).status())) << wrong;
  }
}

TEST(ParseRate, ReadsBitsAndBytesPerSecond) {
  EXPECT_EQ(ParseRate("1Gbit/s").value(), 125e6);
  EXPECT_EQ(ParseRate("125MB/s").value(), 125e6);
  for (const char* wrong : {"", "/s", "1Gbit", "0MB/s", "125/s", "fast/s"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseRate(wrong).status())) << wrong;
  }
}

TEST(ParseDuration, WantsAUnit) {
  EXPECT_EQ(ParseDuration("250ms").value(), absl::Milliseconds(250));
  EXPECT_EQ(ParseDuration("1h30m").value(), absl::Minutes(90));
  for (const char* wrong : {"", "30", "0", "-1s", "inf", "s", "99999h"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDuration(wrong).status())) << wrong;
  }
}

RC_GTEST_PROP(ValueText, AnyWordsParseOrSayWhy, (const std::string& words)) {
  for (const absl::Status& status :
       {ParseBytes(words).status(), ParseRate(words).status(), ParseDuration(words).status()}) {
    RC_ASSERT(status.ok() || !status.message().empty());
  }
}

TEST(ParseMasterAddress, TakesHostAndPort) {
  for (const char* text :
       {"node1:7117", "127.0.0.1:1", "[::1]:65535", "a.b-c.example:80", "unix:/run/weir"}) {
    EXPECT_EQ(ParseMasterAddress(text).value_or("refused"), text);
  }
}

// gRPC would ask port 7117 for 72653, and port 443 where none is given.
TEST(ParseMasterAddress, RefusesWhatWouldLeadElsewhere) {
  for (const char* text : {"", "node1", "node1:", ":7117", "node1:0", "node1:65536", "node1:72653",
                           "node1:-1", "node1:x", "node1:7117x", "::1:7117", "[]:7117", "[::1]",
                           "http://node1:7117", "node 1:7117"}) {
    const absl::StatusOr<std::string> address = ParseMasterAddress(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(address.status().message().find("HOST:PORT"), std::string::npos) << text;
  }
}

TEST(FormatValues, AreShortAndHaveUnits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1500), "1.5 kB");
  EXPECT_EQ(FormatBytes(64e6), "64.0 MB");
  EXPECT_EQ(FormatBytes(999'960), "1.0 MB");
  EXPECT_EQ(FormatSeconds(0.0123), "12 ms");
  EXPECT_EQ(FormatSeconds(3.44), "3.4 s");
  EXPECT_EQ(FormatSeconds(59.97), "1 min 00 s");
  EXPECT_EQ(FormatSeconds(125), "2 min 05 s");
  EXPECT_EQ(FormatSeconds(3725), "1 h 02 min");
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
  EXPECT_EQ(FormatUnixMillis(0), "");
  EXPECT_EQ(FormatUnixMillis(1'769'860'800'000), "2026-01-31 12:00:00Z");
}

TEST(FormatRate, IsReadBackByParseRate) {
  EXPECT_EQ(FormatRate(1.25e7), "100.0Mbit/s");
  EXPECT_EQ(FormatRate(1.5e8), "1.20Gbit/s");
  EXPECT_EQ(FormatRate(1000), "8kbit/s");
  EXPECT_NEAR(*ParseRate(FormatRate(1.25e7)), 1.25e7, 1);
}

}  // namespace
}  // namespace weir::client
