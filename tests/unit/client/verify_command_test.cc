// `weir verify`: outputs against their manifests.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/format/xxh3_stream.h"
#include "tests/unit/client/command_host_test_base.h"

namespace weir::client {
namespace {

class VerifyCommandTest : public CommandHostTest {};

TEST_F(VerifyCommandTest, VerifyAcceptsWholeOutputsOnly) {
  const std::string content = "a\t1\n";
  const std::string sum = format::Xxh3Hex(format::Xxh3(content));
  ASSERT_TRUE(storage_.MakeDirectory(dir_ + "/_weir").ok());
  Put("part-00000", content);
  Put("manifest.json", R"({"schema":1,"parts":[{"file":"part-00000","bytes":4,"records":1,)"
                       R"("xxh3_64":")" +
                           sum + R"("}]})");
  VerifyOptions options;
  options.output = dir_;
  EXPECT_EQ(Verify(options, host_), kExitOk) << err_.str();
  Put("part-00001", "stray");
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("part-00001: not in the manifest"), std::string::npos);
  ASSERT_TRUE(storage_.RemoveAll(dir_ + "/part-00001").ok());
  Put("part-00000", "b\t1\n");
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("checksum"), std::string::npos);
  Put("part-00000", "b");
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("has 1 bytes, the manifest says 4"), std::string::npos);
  ASSERT_TRUE(storage_.RemoveAll(dir_ + "/part-00000").ok());
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("part-00000: missing"), std::string::npos);
  ASSERT_EQ(::mkfifo((dir_ + "/part-00000").c_str(), 0600), 0);
  EXPECT_EQ(Verify(options, host_), kExitJobFailed) << "and does not wait for a writer";
  EXPECT_NE(err_.str().find("part-00000: is no regular file"), std::string::npos);
  ASSERT_TRUE(storage_.RemoveAll(dir_ + "/manifest.json").ok());
  ASSERT_EQ(::mkfifo((dir_ + "/manifest.json").c_str(), 0600), 0);
  EXPECT_EQ(Verify(options, host_), kExitJobFailed) << "nor for one of its manifest";
  EXPECT_NE(err_.str().find("manifest.json: is no regular file"), std::string::npos);
}

TEST_F(VerifyCommandTest, NamesDoNotSteerATerminal) {
  Put("manifest.json", R"({"parts":[]})");
  VerifyOptions options;
  options.output = dir_;
  Put("\x1b[2Jstray", "x");
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_EQ(err_.str().find('\x1b'), std::string::npos) << err_.str();
  EXPECT_NE(err_.str().find("stray: not in the manifest"), std::string::npos);
  std::filesystem::create_directory(dir_ + "/out\nput");
  Put("out\nput/manifest.json", R"({"parts":[]})");
  options.output = "out\nput";
  EXPECT_EQ(Verify(options, host_), kExitOk);
  EXPECT_NE(out_.str().find("/out\\nput: 0 parts"), std::string::npos) << out_.str();
}

TEST_F(VerifyCommandTest, VerifyTrustsNoManifest) {
  VerifyOptions options;
  options.output = dir_;
  for (const char* manifest : {"", "[]", "{", R"({"parts":{}})", R"({"parts":[1]})",
                               R"({"parts":[{"file":"../x","bytes":1,"xxh3_64":"0"}]})",
                               R"({"parts":[{"file":7,"bytes":"1","xxh3_64":0}]})"}) {
    Put("manifest.json", manifest);
    EXPECT_EQ(Verify(options, host_), kExitJobFailed) << manifest;
  }
}

TEST_F(VerifyCommandTest, WhatIsNoOutputOfAJobIsRefused) {
  Put("file", "x");
  ASSERT_TRUE(storage_.MakeDirectory(dir_ + "/empty").ok());
  for (const auto& [output, code] : {std::pair{"nowhere", "INPUT_NOT_FOUND"},
                                     {"file", "INPUT_NOT_FOUND"},
                                     {"empty", "NOT_FOUND"}}) {
    out_.str("");
    VerifyOptions options;
    options.output = output;
    options.json = true;
    EXPECT_EQ(Verify(options, host_), kExitRefused) << output;
    EXPECT_EQ(nlohmann::json::parse(out_.str())["error"]["code"], code) << output;
    EXPECT_NE(err_.str().find(dir_ + "/" + output), std::string::npos) << err_.str();
  }
}

}  // namespace
}  // namespace weir::client
