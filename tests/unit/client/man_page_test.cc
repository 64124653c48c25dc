#include "runtime/client/commands/man_page.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/command_line.h"
#include "runtime/client/flags/exit_codes.h"
#include "tests/unit/client/command_host_test_base.h"

namespace weir::client {
namespace {

// What a reader of a page sees, without fonts.
std::string Read(const std::string& roff) {
  return absl::StrReplaceAll(roff, {{"\\fB", ""},
                                    {"\\fI", ""},
                                    {"\\fR", ""},
                                    {"\\-", "-"},
                                    {"\\(aq", "'"},
                                    {"\\(ga", "`"},
                                    {"\\(ti", "~"},
                                    {"\\(ha", "^"},
                                    {"\\&", ""},
                                    {"\\e", "\\"}});
}

void AddFlags(absl::string_view words, std::set<std::string>& flags) {
  for (const absl::string_view part : absl::StrSplit(words, ' ')) {
    if (absl::StartsWith(part, "-")) flags.insert(std::string(absl::StripSuffix(part, ",")));
  }
}

// Flags that have an entry of their own.
std::set<std::string> FlagsOfPage(const std::string& page) {
  std::set<std::string> flags;
  const std::vector<std::string> lines = absl::StrSplit(Read(page), '\n');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i - 1] == ".TP" && absl::StartsWith(lines[i], "-")) AddFlags(lines[i], flags);
  }
  return flags;
}

// Of `words --help`: "  -o,--output DIR REQUIRED    Where ...".
std::set<std::string> FlagsOfHelp(std::vector<std::string> words) {
  words.push_back("--help");
  const ParsedCommandLine parsed = ParseCommandLine(words);
  EXPECT_EQ(parsed.exit_code, kExitOk);
  std::set<std::string> flags;
  for (const absl::string_view line : absl::StrSplit(parsed.out, '\n')) {
    if (!absl::StartsWith(line, "  -")) continue;
    const absl::string_view names = line.substr(2, line.find(' ', 2) - 2);
    AddFlags(absl::StrReplaceAll(names, {{",", " "}}), flags);
  }
  return flags;
}

void AddFlagsOfHelp(const CommandDescription& command, std::vector<std::string> words,
                    std::set<std::string>& flags) {
  words.push_back(command.name);
  flags.merge(FlagsOfHelp(words));
  for (const CommandDescription& inner : command.commands) AddFlagsOfHelp(inner, words, flags);
}

TEST(ManPage, NamesTheFlagsThatHelpNames) {
  const CommandTree tree = DescribeCommandLine({});
  ASSERT_FALSE(tree.commands.empty());
  EXPECT_EQ(FlagsOfPage(ManPage(tree, "1")), FlagsOfHelp({}));
  for (const CommandDescription& command : tree.commands) {
    std::set<std::string> expected;
    AddFlagsOfHelp(command, {}, expected);
    EXPECT_EQ(FlagsOfPage(ManPageOf(command, "1")), expected) << command.name;
    EXPECT_GE(expected.size(), 2U) << command.name;
  }
}

TEST(ManPage, SaysWhatFlagsAreAndWhatTheyMayBe) {
  for (const CommandDescription& command : DescribeCommandLine({}).commands) {
    const std::string page = ManPageOf(command, "1");
    for (const FlagDescription& flag : command.flags) {
      EXPECT_NE(Read(page).find(flag.help), std::string::npos) << flag.names.back();
      if (!flag.legal.empty()) {
        EXPECT_NE(Read(page).find("Legal: " + flag.legal), std::string::npos);
      }
    }
    for (const ArgumentDescription& argument : command.arguments) {
      EXPECT_NE(Read(page).find(argument.help), std::string::npos) << argument.name;
    }
  }
}

TEST(ManPage, OfTheProgramListsEveryCommandAndVariable) {
  const CommandTree tree = DescribeCommandLine({});
  const std::string page = Read(ManPage(tree, "1.2"));
  EXPECT_TRUE(absl::StartsWith(page, ".TH WEIR 1 \"\" \"weir 1.2\"")) << page.substr(0, 80);
  for (const CommandDescription& command : tree.commands) {
    EXPECT_NE(page.find(absl::StrCat("weir-", command.name, "(1)\n", command.help)),
              std::string::npos)
        << command.name;
  }
  EXPECT_NE(page.find("WEIR_MASTER\nStands in for --master"), std::string::npos);
  EXPECT_NE(page.find(".SH EXIT STATUS\n0 ok, 1 job failed"), std::string::npos);
}

TEST(ManPage, KeepsTextFromBeingRoff) {
  CommandDescription command;
  command.name = "odd";
  command.help = "It's a \\path";
  command.footer = ".begins with a dot\nExamples:\n  'quoted' -x ~/file\nlast words";
  const std::string page = ManPageOf(command, "1");
  EXPECT_NE(page.find("It\\(aqs a \\epath"), std::string::npos);
  EXPECT_NE(page.find("\n\\&.begins with a dot\nlast words\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n.nf\n\\&\\(aqquoted\\(aq \\-x \\(ti/file\n.fi\n"), std::string::npos)
      << page;
}

class ManCommandTest : public CommandHostTest {};

TEST_F(ManCommandTest, PrintsOnePageOrRefusesByName) {
  EXPECT_EQ(Man({.command = "run", .directory = ""}, host_), kExitOk);
  EXPECT_TRUE(absl::StartsWith(out_.str(), ".TH WEIR\\-RUN 1"));
  EXPECT_EQ(Man({.command = "rum", .directory = ""}, host_), kExitUsage);
  EXPECT_NE(err_.str().find("'rum'"), std::string::npos);
  EXPECT_NE(err_.str().find("run"), std::string::npos);
}

TEST_F(ManCommandTest, PagesMayBeReadByOthers) {
  const mode_t before = umask(022);
  EXPECT_EQ(Man({.command = "", .directory = dir_}, host_), kExitOk) << err_.str();
  umask(before);
  int pages = 0;
  for (const auto& page : std::filesystem::directory_iterator(dir_)) {
    EXPECT_EQ(static_cast<unsigned>(page.status().permissions()), 0644u) << page.path();
    ++pages;
  }
  EXPECT_GE(pages, 16);
}

}  // namespace
}  // namespace weir::client
