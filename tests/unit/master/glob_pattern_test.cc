#include "runtime/master/input/glob_pattern.h"

#include "gtest/gtest.h"

namespace weir::master {
namespace {

using Patterns = std::vector<std::string>;

TEST(GlobPattern, BracesStandForTheirChoices) {
  EXPECT_EQ(Alternatives("/d/*"), Patterns{"/d/*"});
  EXPECT_EQ(Alternatives("a{b,c}d"), (Patterns{"a{b,c}d", "abd", "acd"}));
  EXPECT_EQ(Alternatives("{a,{b,c}}"), (Patterns{"{a,{b,c}}", "a", "{b,c}", "b", "c"}));
  EXPECT_EQ(Alternatives("{x}"), (Patterns{"{x}", "x"}));
  EXPECT_EQ(Alternatives("{a,}"), (Patterns{"{a,}", "a", ""}));
  for (const char* const itself : {"{}", "a{b,c", "a}b", "\\{a,b}"}) {
    EXPECT_EQ(Alternatives(itself), Patterns{itself});
  }
  std::string many;
  for (int i = 0; i < 40; ++i) many += "{a,b}";
  EXPECT_LE(Alternatives(many).size(), 1001u);
}

TEST(GlobPattern, WildcardsDoNotBeginWhatIsNoData) {
  EXPECT_TRUE(MatchesName("*", "a_b"));
  EXPECT_TRUE(MatchesName("a[0-9]?", "a12"));
  EXPECT_FALSE(MatchesName("a*", "b"));
  for (const char* const pattern : {"*", "?x", "[!a]x", "*x"}) {
    EXPECT_FALSE(MatchesName(pattern, "_x")) << pattern;
    EXPECT_FALSE(MatchesName(pattern, ".x")) << pattern;
  }
  for (const char* const pattern : {"_*", "_x", "[_a]x", "\\_?"}) {
    EXPECT_TRUE(MatchesName(pattern, "_x")) << pattern;
  }
}

TEST(GlobPattern, PathsAreAskedForNameByName) {
  EXPECT_TRUE(AsksFor(Alternatives("/d/*"), "/d/x"));
  EXPECT_FALSE(AsksFor(Alternatives("/d/*"), "/d/e/x")) << "a wildcard is within one name";
  EXPECT_FALSE(AsksFor(Alternatives("/d/*"), "/d/_weir"));
  EXPECT_FALSE(AsksFor(Alternatives("/d/*/x"), "/d/_tmp/x"));
  EXPECT_TRUE(AsksFor(Alternatives("/_d/*"), "/_d/x"));
  EXPECT_TRUE(AsksFor(Alternatives("/d/{_a,b}"), "/d/_a"));
  EXPECT_FALSE(AsksFor(Alternatives("/d/{*,b}"), "/d/_a"));
}

}  // namespace
}  // namespace weir::master
