#include "runtime/master/input/input_expansion.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "jobs/packed/member_borders.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/env/real/posix_storage.h"
#include "runtime/master/input/packed_files.h"
#include "tests/sim/memory_storage.h"
#include "tests/unit/jobs/pack_text.h"

namespace weir::master {
namespace {

class InputExpansionTest : public ::testing::Test {
 protected:
  void Directory(const std::string& path) { ASSERT_TRUE(storage_.MakeDirectory(path).ok()); }
  void File(const std::string& path, std::int64_t bytes) {
    ASSERT_TRUE(storage_.WriteSized(path, bytes).ok());
  }
  std::vector<std::string> Paths(const std::vector<std::string>& inputs) {
    const absl::StatusOr<InputList> list = ExpandInputs(storage_, inputs);
    EXPECT_TRUE(list.ok()) << list.status();
    std::vector<std::string> paths;
    if (!list.ok()) return paths;
    for (const InputFile& file : list->files) paths.push_back(file.path);
    return paths;
  }
  std::string CodeOf(const std::vector<std::string>& inputs) {
    return JobErrorFromStatus(ExpandInputs(storage_, inputs).status()).code();
  }
  sim::MemoryStorage storage_;
};

TEST_F(InputExpansionTest, NamesThatAreNotTextAreRefusedByName) {
  Directory("/d");
  File("/d/x\xff", 1);
  EXPECT_EQ(CodeOf({"/d"}), "INPUT_UNREADABLE");
  EXPECT_NE(ExpandInputs(storage_, {"/d"}).status().message().find("/d/x?"),
            absl::string_view::npos);
}

TEST_F(InputExpansionTest, DirectoriesAreWalkedWithoutHiddenNames) {
  Directory("/d");
  Directory("/d/sub");
  Directory("/d/_temporary");
  File("/d/b", 2);
  File("/d/a", 1);
  File("/d/.hidden", 9);
  File("/d/_temporary/x", 9);
  File("/d/sub/c", 3);
  EXPECT_EQ(Paths({"/d"}), (std::vector<std::string>{"/d/a", "/d/b", "/d/sub/c"}));
  EXPECT_EQ(ExpandInputs(storage_, {"/d"})->total_bytes, 6);
}

TEST_F(InputExpansionTest, NamedFilesAreTakenAsNamedAndAsOftenAsNamed) {
  File("/.hidden", 1);
  EXPECT_EQ(Paths({"/.hidden", "/.hidden"}), (std::vector<std::string>{"/.hidden", "/.hidden"}));
}

TEST_F(InputExpansionTest, GlobsAreSortedAndLiteralNamesGoFirst) {
  File("/x2", 1);
  File("/x1", 1);
  File("/we[ird", 1);
  EXPECT_EQ(Paths({"/x*"}), (std::vector<std::string>{"/x1", "/x2"}));
  EXPECT_EQ(Paths({"/we[ird"}), std::vector<std::string>{"/we[ird"});
}

TEST_F(InputExpansionTest, WhatIsPackedOtherwiseThanByGzipOrZstdIsRefused) {
  Directory("/d");
  File("/d/a.gz", 9);
  File("/d/a.zst", 9);
  EXPECT_EQ(Paths({"/d"}), (std::vector<std::string>{"/d/a.gz", "/d/a.zst"}));
  for (const char* name : {"/d/b.bz2", "/d/b.xz"}) {
    File(name, 9);
    const v1::JobError error = JobErrorFromStatus(ExpandInputs(storage_, {"/d"}).status());
    EXPECT_EQ(error.code(), job_error::kInputUnreadable) << name;
    EXPECT_EQ(error.file(), name);
    ASSERT_TRUE(storage_.RemoveAll(name).ok());
  }
}

TEST_F(InputExpansionTest, LargePackedFilesHaveTheBordersThatTheirMembersTell) {
  std::string text;
  for (int i = 0; text.size() < 60'000; ++i) text += std::to_string(i * 7919LL % 1000003);
  std::string bgzf, frames, plain;
  while (bgzf.size() < 2 * kPiecePackedBytesMin + 100'000) {
    bgzf += PackBgzf(text);
    frames += PackZstd(text, {});
    plain += Pack(Packing::kGzip, text);
  }
  ASSERT_TRUE(storage_.WriteFile("/bgzf.gz", bgzf).ok());
  ASSERT_TRUE(storage_.WriteFile("/frames.zst", frames).ok());
  ASSERT_TRUE(storage_.WriteFile("/plain.gz", plain).ok());
  const auto list = ExpandInputs(storage_, {"/bgzf.gz", "/frames.zst", "/plain.gz"});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_GE(list->files[0].borders.size(), 3u);
  EXPECT_GE(list->files[1].borders.size(), 3u);
  EXPECT_EQ(list->files[0].borders.back().at, std::ssize(bgzf));
  EXPECT_TRUE(list->files[2].borders.empty());
  // Beside so much that it may as well be one mapper's, it is not looked into.
  File("/large", static_cast<std::int64_t>(bgzf.size()) * (kFilesShared + 1));
  EXPECT_TRUE(ExpandInputs(storage_, {"/bgzf.gz", "/large"})->files[0].borders.empty());
}

TEST_F(InputExpansionTest, AnEmptyNameIsNoInput) {
  EXPECT_EQ(CodeOf({""}), job_error::kInvalidJob);
}

TEST_F(InputExpansionTest, EmptyDirectoryIsAnEmptyInput) {
  Directory("/d");
  EXPECT_TRUE(Paths({"/d"}).empty());
}

TEST_F(InputExpansionTest, ErrorsNameThePath) {
  EXPECT_EQ(CodeOf({"/missing"}), job_error::kInputNotFound);
  EXPECT_EQ(CodeOf({"/none*"}), job_error::kInputNotFound);
  EXPECT_EQ(JobErrorFromStatus(ExpandInputs(storage_, {"/missing"}).status()).file(), "/missing");
  storage_.SetGate([](const char*, const std::string&) {
    return absl::PermissionDeniedError("no permission (simulated)");
  });
  EXPECT_EQ(CodeOf({"/secret"}), job_error::kInputUnreadable);
}

TEST_F(InputExpansionTest, AdviceFollowsTheReason) {
  int error_number = 0;
  storage_.SetGate([&](const char*, const std::string& path) {
    return ErrnoStatus(error_number, "look up " + path);
  });
  for (const int reason : {EIO, ESTALE, EACCES}) {
    error_number = reason;
    const v1::JobError error = JobErrorFromStatus(ExpandInputs(storage_, {"/x"}).status());
    EXPECT_EQ(error.code(), job_error::kInputUnreadable);
    EXPECT_EQ(error.advice(), AdviceForErrno(error_number));
    EXPECT_EQ(error.advice().find("permissions of") != std::string::npos, reason == EACCES);
  }
}

TEST_F(InputExpansionTest, EndlessDirectoriesEnd) {
  std::string path = "/d";
  for (int depth = 0; depth < 70; ++depth, path += "/d") Directory(path);
  EXPECT_EQ(CodeOf({"/d"}), job_error::kInputUnreadable);
}

TEST(InputExpansionOnDisk, ALinkThatLeadsNowhereIsNamed) {
  char name[] = "/tmp/weir-expansion-XXXXXX";
  const std::string root = mkdtemp(name);
  std::filesystem::create_directories(root + "/a");
  std::ofstream(root + "/a/file") << "x";
  env::PosixStorage storage;
  // Hidden, it would not be read if it led somewhere.
  std::filesystem::create_symlink("gone", root + "/a/.hidden");
  EXPECT_EQ(ExpandInputs(storage, {root})->files.size(), 1u);
  std::filesystem::create_symlink("gone", root + "/a/link");
  const absl::Status nowhere = ExpandInputs(storage, {root}).status();
  EXPECT_EQ(JobErrorFromStatus(nowhere).code(), job_error::kInputNotFound);
  EXPECT_NE(nowhere.message().find("the link " + root + "/a/link"), absl::string_view::npos)
      << nowhere;
  std::ofstream(root + "/a/gone") << "y";
  EXPECT_EQ(ExpandInputs(storage, {root})->files.size(), 3u);
  std::filesystem::remove_all(root);
}

TEST(InputExpansionOnDisk, APipeAmongFilesIsNamed) {
  char name[] = "/tmp/weir-expansion-XXXXXX";
  const std::string root = mkdtemp(name);
  std::ofstream(root + "/file") << "x";
  env::PosixStorage storage;
  ASSERT_EQ(::mkfifo((root + "/.hidden").c_str(), 0600), 0);
  EXPECT_EQ(ExpandInputs(storage, {root})->files.size(), 1u);
  ASSERT_EQ(::mkfifo((root + "/pipe").c_str(), 0600), 0);
  const v1::JobError error = JobErrorFromStatus(ExpandInputs(storage, {root}).status());
  EXPECT_EQ(error.code(), job_error::kInputUnreadable);
  EXPECT_EQ(error.file(), root + "/pipe");
  ASSERT_EQ(::rename((root + "/pipe").c_str(), (root + "/manifest.json").c_str()), 0);
  EXPECT_EQ(JobErrorFromStatus(ExpandInputs(storage, {root}).status()).file(),
            root + "/manifest.json");
  std::filesystem::remove_all(root);
}

TEST(InputExpansionOnDisk, ALinkThatLeadsBackIsNamed) {
  char name[] = "/tmp/weir-expansion-XXXXXX";
  const std::string root = mkdtemp(name);
  std::filesystem::create_directories(root + "/a/b");
  std::ofstream(root + "/a/b/file") << "x";
  env::PosixStorage storage;
  // A link beside the way is no loop: the directory counts twice, as it is there twice.
  std::filesystem::create_symlink(root + "/a/b", root + "/a/again");
  EXPECT_EQ(ExpandInputs(storage, {root})->files.size(), 2u);
  // Two of them, each into the whole: whoever follows links to some depth never comes back.
  std::filesystem::create_symlink("..", root + "/a/b/up");
  std::filesystem::create_symlink(".", root + "/a/b/self");
  const absl::Status loop = ExpandInputs(storage, {root}).status();
  EXPECT_EQ(JobErrorFromStatus(loop).code(), job_error::kInputUnreadable);
  EXPECT_NE(loop.message().find("the link " + root + "/a/again/self leads back to " + root),
            absl::string_view::npos)
      << loop;
  EXPECT_NE(JobErrorFromStatus(loop).advice().find("remove the link"), std::string::npos);
  std::filesystem::remove(root + "/a/b/up");
  std::filesystem::remove(root + "/a/b/self");
  // A link to itself leads to nothing at all.
  std::filesystem::create_symlink("circle", root + "/a/circle");
  const v1::JobError circle = JobErrorFromStatus(ExpandInputs(storage, {root}).status());
  EXPECT_EQ(circle.code(), job_error::kInputUnreadable);
  EXPECT_NE(circle.message().find("/a/circle"), std::string::npos) << circle.message();
  EXPECT_NE(circle.advice().find("in a circle"), std::string::npos) << circle.advice();
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace weir::master
