#include "jobs/stream/script/script.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "jobs/testing/in_process_job.h"

namespace weir::stream {
namespace {

class Listener : public ScriptListener {
 public:
  absl::Status OnOutput(std::string_view bytes) override {
    out.append(bytes);
    return absl::OkStatus();
  }
  absl::Status OnErrorOutput(std::string_view bytes) override {
    err.append(bytes);
    return absl::OkStatus();
  }
  bool stop() override { return stopped; }
  void StillWaiting() override { ++waits; }

  std::string out;
  std::string err;
  bool stopped = false;
  int waits = 0;
};

class ScriptTest : public ::testing::Test {
 protected:
  ScriptTest() { std::signal(SIGPIPE, SIG_IGN); }

  std::unique_ptr<Script> Start(const std::string& shell_text, std::int64_t silence_ms = 0) {
    auto script = Script::Start({.words = {"sh", "-c", shell_text},
                                 .environment = {"PATH=/usr/bin:/bin", "NAME=value"},
                                 .directory = "/tmp",
                                 .path = "/usr/bin:/bin",
                                 .silence_ms = silence_ms},
                                listener_);
    EXPECT_TRUE(script.ok()) << script.status();
    return script.ok() ? *std::move(script) : nullptr;
  }

  Listener listener_;
};

TEST_F(ScriptTest, SaysWhatIsWrongWithTheFirstLine) {
  const auto refused = [this](const std::string& text) {
    const weir::testing::ScratchFile file(text);
    std::filesystem::permissions(file.path(), std::filesystem::perms::owner_all);
    return Script::Start(
               {.words = {file.path()}, .environment = {}, .directory = "/tmp", .path = "/bin"},
               listener_)
        .status();
  };
  const absl::Status none = refused("cat\n");
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition) << none;
  EXPECT_NE(none.message().find("does not begin with #!"), std::string::npos) << none;
  const absl::Status windows = refused("#!/bin/bash\r\ncat\r\n");
  EXPECT_EQ(windows.code(), absl::StatusCode::kFailedPrecondition) << windows;
  EXPECT_NE(windows.message().find("'#!/bin/bash\\r'"), std::string::npos) << windows;
  EXPECT_NE(windows.message().find("carriage return"), std::string::npos) << windows;
}

// The kernel starts env, which looks for a program whose name ends with the carriage return.
TEST_F(ScriptTest, TellsOfAFirstLineOfWindowsThatNamesEnv) {
  const auto ended = [this](const std::string& text) {
    const weir::testing::ScratchFile file(text);
    std::filesystem::permissions(file.path(), std::filesystem::perms::owner_all);
    const auto script = Script::Start({.words = {file.path()},
                                       .environment = {"PATH=/usr/bin:/bin"},
                                       .directory = "/tmp",
                                       .path = "/usr/bin:/bin"},
                                      listener_);
    if (!script.ok()) return script.status().ToString();
    const auto end = (*script)->Finish();
    return end.ok() ? end->Describe() : end.status().ToString();
  };
  EXPECT_EQ(ended("#!/usr/bin/env sh\r\ncat\r\n"),
            "exited with code 127; its first line, '#!/usr/bin/env sh\\r', ends with a carriage "
            "return, as of Windows");
  EXPECT_EQ(ended("#!/usr/bin/env sh\nexit 127\n"), "exited with code 127");
}

TEST_F(ScriptTest, WhatGoesInComesOutHoweverMuch) {
  const auto script = Start("cat");
  std::string text;
  for (int i = 0; text.size() < (8u << 20); ++i) text += std::to_string(i) + "\n";
  ASSERT_TRUE(script->Write(text).ok());
  const auto end = script->Finish();
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(listener_.out, text);
}

TEST_F(ScriptTest, MayWriteMuchBeforeItReads) {
  const auto script = Start("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; cat");
  ASSERT_TRUE(script->Write(std::string(3'000'000, 'x')).ok());
  ASSERT_TRUE(script->Finish().ok());
  EXPECT_EQ(listener_.out, std::string(3'000'000, '\0') + std::string(3'000'000, 'x'));
  EXPECT_EQ(listener_.err.size(), 3'000'000u);
}

TEST_F(ScriptTest, SeesItsEnvironmentAndDirectory) {
  const auto script = Start("echo $NAME; pwd; ls /proc/self/fd | wc -l");
  ASSERT_TRUE(script->Finish().ok());
  EXPECT_EQ(listener_.out.substr(0, 11), "value\n/tmp\n");
  EXPECT_LE(std::stoi(listener_.out.substr(11)),
            4);  // no descriptor of ours; ls has one of its own
}

TEST_F(ScriptTest, TellsHowItEnded) {
  EXPECT_EQ(Start("exit 3")->Finish()->Describe(), "exited with code 3");
  EXPECT_EQ(Start("kill -KILL $$")->Finish()->Describe(), "was ended by signal SIGKILL (Killed)");
}

TEST_F(ScriptTest, ClosingItsInputEarlyEndsTheFeeding) {
  const auto script = Start("exec <&-; echo bye");
  ASSERT_TRUE(script->Write(std::string(5'000'000, 'x')).ok());
  EXPECT_TRUE(script->closed());
  const auto end = script->Finish();
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(listener_.out, "bye\n");
}

// What it started keeps its stdin open and reads nothing.
TEST_F(ScriptTest, ADeadScriptIsFedNoMore) {
  const auto script = Start("sleep 1 >/dev/null 2>&1 & exit 4");
  ASSERT_TRUE(script->Write(std::string(5'000'000, 'x')).ok());
  EXPECT_EQ(script->Finish()->exit_code, 4);
}

TEST_F(ScriptTest, SilenceEnds) {
  const auto script = Start("sleep 1000", 600);
  const auto end = script->Finish();
  EXPECT_EQ(end.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_GE(listener_.waits, 3);
}

TEST_F(ScriptTest, IsLeftWhenTheJobEnds) {
  const auto script = Start("sleep 1000");
  listener_.stopped = true;
  EXPECT_EQ(script->Finish().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ScriptTest, ProgramsAreLookedForHereThenInPath) {
  const weir::testing::ScratchFile file("#!/bin/sh\n");
  const std::string folder = file.path().substr(0, file.path().rfind('/'));
  const std::string name = file.path().substr(file.path().rfind('/') + 1);
  EXPECT_EQ(FindProgram(name, folder, "/bin").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(*FindProgram("sh", folder, "/nowhere:/bin"), "/bin/sh");
  EXPECT_EQ(*FindProgram("/bin/sh", folder, ""), "/bin/sh");
  EXPECT_EQ(*FindProgram("./sh", "/bin", ""), "/bin/./sh");
  const absl::Status missing = FindProgram("no-such-program", folder, "/bin").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(missing.message()).find("no-such-program"), std::string::npos);
}

}  // namespace
}  // namespace weir::stream
