#include "runtime/client/commands/completion.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "runtime/client/flags/command_line.h"

namespace weir::client {
namespace {

std::string OutputOf(const std::string& shell_command) {
  FILE* pipe = popen(shell_command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (std::size_t got = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, got);
  const int status = pclose(pipe);
  EXPECT_EQ(status, 0) << output;
  return output;
}

std::string Complete(const std::string& words, int current) {
  char name[] = "/tmp/weir-completion-XXXXXX";
  const int fd = mkstemp(name);
  EXPECT_GE(fd, 0);
  std::ofstream(name) << CompletionScript(CompletionOptions::Shell::kBash,
                                          DescribeCommandLine({"onebrc", "wordcount"}));
  std::string output = OutputOf("bash -c 'source " + std::string(name) + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=" + std::to_string(current) +
                                "; _weir; echo \"${COMPREPLY[*]}\"' 2>&1");
  remove(name);
  return output;
}

TEST(BashCompletion, CompletesCommandsFlagsAndJobs) {
  EXPECT_EQ(Complete("weir su", 1), "submit\n");
  EXPECT_EQ(Complete("weir run w", 2), "wordcount\n");
  EXPECT_EQ(Complete("weir run wordcount --overw", 3), "--overwrite\n");
  EXPECT_EQ(Complete("weir planner t", 2), "tree\n");
  EXPECT_EQ(Complete("weir list w", 2), "workers\n");
  EXPECT_EQ(Complete("weir list m", 2), "metrics\n");
  EXPECT_EQ(Complete("weir streaming -map", 2), "-mapper\n");
}

TEST(Completion, NamesEveryCommandInEveryShell) {
  const CommandTree tree = DescribeCommandLine({"wordcount"});
  for (const auto shell : {CompletionOptions::Shell::kBash, CompletionOptions::Shell::kZsh,
                           CompletionOptions::Shell::kFish}) {
    const std::string script = CompletionScript(shell, tree);
    for (const CommandDescription& command : tree.commands) {
      EXPECT_NE(script.find(command.name), std::string::npos) << command.name;
    }
    EXPECT_NE(script.find("wordcount"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::client
