#include "runtime/master/input/earlier_results.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/env/real/posix_storage.h"
#include "runtime/master/input/input_expansion.h"
#include "runtime/master/output/manifest.h"

namespace weir::master {
namespace {

// On a disk, because links are what it is about.
class EarlierResultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weir-results-XXXXXX";
    root_ = mkdtemp(name);
    out_ = root_ + "/out";
    std::filesystem::create_directory(out_);
    v1::OutputPart parts[2];
    for (int i = 0; i < 2; ++i) {
      parts[i].set_file("part-0000" + std::to_string(i));
      parts[i].set_bytes(2);
      std::ofstream(out_ + "/" + parts[i].file()) << "a\n";
    }
    ManifestHead head;
    head.job_id = "j-1";
    std::ofstream(out_ + "/manifest.json") << ManifestText(head, {parts[0], parts[1]});
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  v1::JobError ErrorOf(const std::string& input) {
    return JobErrorFromStatus(ExpandInputs(storage_, {input}).status());
  }
  absl::Status Outside(const std::string& input, const std::string& output) {
    const absl::StatusOr<InputList> list = ExpandInputs(storage_, {input});
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? CheckInputsOutside(storage_, *list, output) : list.status();
  }

  std::string root_, out_;
  env::PosixStorage storage_;
};

TEST_F(EarlierResultsTest, AreReadWholeAndWithoutTheirManifest) {
  EXPECT_EQ(ExpandInputs(storage_, {out_})->files.size(), 2u);
  EXPECT_EQ(ExpandInputs(storage_, {out_ + "/"})->files.size(), 2u);
  // What somebody put beside the parts is input as it is.
  std::ofstream(out_ + "/more") << "b\n";
  EXPECT_EQ(ExpandInputs(storage_, {out_})->files.size(), 3u);
  // What an attempt made late is not.
  std::ofstream(out_ + "/part-00001.1.2") << "a\n";
  EXPECT_EQ(ExpandInputs(storage_, {out_})->files.size(), 3u);
  std::ofstream(out_ + "/part-1.csv") << "c\n";
  EXPECT_EQ(ExpandInputs(storage_, {out_})->files.size(), 4u);
}

TEST_F(EarlierResultsTest, APartThatIsMissingOrOfAnotherSizeIsNamed) {
  std::ofstream(out_ + "/part-00001", std::ios::app) << "b\n";
  v1::JobError error = ErrorOf(out_);
  EXPECT_EQ(error.code(), job_error::kInputUnreadable);
  EXPECT_NE(error.message().find("part-00001 has 4 bytes, not the 2"), std::string::npos)
      << error.message();
  std::filesystem::remove(out_ + "/part-00001");
  EXPECT_NE(ErrorOf(root_).message().find("job j-1, of which part-00001 is missing"),
            std::string::npos);
  std::filesystem::remove(out_ + "/part-00000");
  EXPECT_EQ(ErrorOf(out_).code(), job_error::kInputUnreadable) << "not its manifest as data";
  std::ofstream(out_ + "/part-00000") << "a\n";
  EXPECT_EQ(ExpandInputs(storage_, {out_ + "/part-*"})->files.size(), 1u) << "asked for by name";
}

TEST_F(EarlierResultsTest, APatternReadsThePartsAndNotWhatIsSaidOfThem) {
  std::filesystem::create_directory(out_ + "/_weir");
  std::ofstream(out_ + "/_weir/plan.json") << "{}";
  std::ofstream(out_ + "/_SUCCESS") << "";
  for (const std::string& pattern : {out_ + "/*", root_ + "/*/*", root_ + "/{out,none}/{*,x}"}) {
    const absl::StatusOr<InputList> list = ExpandInputs(storage_, {pattern});
    ASSERT_TRUE(list.ok()) << list.status();
    ASSERT_EQ(list->files.size(), 2u) << pattern;
    EXPECT_EQ(list->files[0].path, out_ + "/part-00000");
    EXPECT_EQ(list->files[1].path, out_ + "/part-00001");
  }
  // What a pattern names by its beginning, or whole, was meant.
  EXPECT_EQ(ExpandInputs(storage_, {out_ + "/_weir/*"})->files.size(), 1u);
  EXPECT_EQ(ExpandInputs(storage_, {out_ + "/_w*"})->files.size(), 1u);
  EXPECT_EQ(ExpandInputs(storage_, {root_ + "/*/manifest.json"})->files.size(), 1u);
  EXPECT_EQ(ExpandInputs(storage_, {out_ + "/manifest.json"})->files.size(), 1u);
  const v1::JobError none = ErrorOf(out_ + "/m*");
  EXPECT_EQ(none.code(), job_error::kInputNotFound);
  EXPECT_NE(none.message().find("which are no data"), std::string::npos) << none.message();
  // A file of that name which somebody else wrote is data.
  std::filesystem::create_directory(root_ + "/other");
  std::ofstream(root_ + "/other/manifest.json") << "{}";
  EXPECT_EQ(ExpandInputs(storage_, {root_ + "/other/*"})->files.size(), 1u);
}

TEST_F(EarlierResultsTest, AManifestOfSomebodyElseIsAFileLikeOthers) {
  const std::string other = root_ + "/other";
  std::filesystem::create_directory(other);
  std::ofstream(other + "/manifest.json") << "{}";
  EXPECT_EQ(ExpandInputs(storage_, {other})->files.size(), 1u);
  // Also beside what has the name of a part, as other programs write them.
  std::ofstream(other + "/part-00000") << "a\n";
  EXPECT_EQ(ExpandInputs(storage_, {other})->files.size(), 2u);
  for (const char* text : {"", "{", "{\n  \"job\": \"nightly\"\n}\n", "{\"job_id\":\"7\"}"}) {
    std::ofstream(other + "/manifest.json") << text;
    EXPECT_EQ(ExpandInputs(storage_, {other})->files.size(), 2u) << text;
  }
}

TEST_F(EarlierResultsTest, ADamagedManifestIsNoData) {
  const std::string path = out_ + "/manifest.json";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
  const absl::StatusOr<InputList> list = ExpandInputs(storage_, {out_});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->files.size(), 2u);
}

TEST_F(EarlierResultsTest, InputsInsideTheOutputAreFoundBehindLinks) {
  EXPECT_EQ(JobErrorFromStatus(Outside(out_, out_)).code(), job_error::kInvalidJob);
  std::filesystem::create_symlink(out_, root_ + "/link");
  EXPECT_FALSE(Outside(root_ + "/link", out_).ok());
  std::filesystem::create_symlink(".", root_ + "/here");
  EXPECT_FALSE(Outside(out_, root_ + "/here/out").ok());
  std::filesystem::create_directory(root_ + "/in");
  std::ofstream(root_ + "/in/own") << "x\n";
  EXPECT_TRUE(Outside(root_ + "/in", out_).ok());
  std::filesystem::create_symlink(out_ + "/part-00000", root_ + "/in/theirs");
  const absl::Status inside = Outside(root_ + "/in", out_);
  EXPECT_NE(inside.message().find("/in/theirs is the same file as " + out_ + "/part-00000"),
            absl::string_view::npos)
      << inside;
  EXPECT_TRUE(Outside(root_ + "/in", root_ + "/new").ok()) << "nothing is lost";
}

TEST_F(EarlierResultsTest, AnOutputThatWouldBecomeInputIsFound) {
  const auto outside = [this](const std::string& input, const std::string& output) {
    std::vector<env::FileInfo> directories;
    const absl::StatusOr<InputList> list = ExpandInputs(storage_, {input}, {}, &directories);
    EXPECT_TRUE(list.ok()) << list.status();
    return CheckOutputOutside(storage_, directories, output);
  };
  const std::string in = root_ + "/in";
  std::filesystem::create_directories(in + "/deep/_kept");
  std::ofstream(in + "/data") << "x\n";
  const absl::Status inside = outside(in, in + "/out");
  EXPECT_EQ(JobErrorFromStatus(inside).code(), job_error::kInvalidJob);
  EXPECT_NE(inside.message().find("the output " + in +
                                  "/out would lie in a directory of the input, " + in),
            absl::string_view::npos)
      << inside;
  EXPECT_FALSE(outside(in + "/", in + "/out").ok());
  EXPECT_FALSE(outside(in, in + "/deep/out").ok());
  EXPECT_FALSE(outside(in, in + "/new/out").ok()) << "its folder is to be made";
  EXPECT_FALSE(outside(root_ + "/i*", in + "/out").ok()) << "a pattern that names the directory";
  std::filesystem::create_symlink(in + "/deep", root_ + "/link");
  EXPECT_FALSE(outside(in, root_ + "/link/out").ok()) << "by another way";
  EXPECT_FALSE(outside(root_ + "/link", in + "/deep/out").ok());
  // What no run on the input reads.
  EXPECT_TRUE(outside(in, root_ + "/new").ok());
  EXPECT_TRUE(outside(in, root_ + "/in-counts").ok());
  EXPECT_TRUE(outside(in + "/data", in + "/out").ok());
  EXPECT_TRUE(outside(in + "/d*a", in + "/out").ok());
  for (const char* const name :
       {"/_out", "/.out", "/_new/out", "/deep/_kept/out", "/deep/_kept/a/b"}) {
    EXPECT_TRUE(outside(in, in + name).ok()) << name;
  }
}

TEST_F(EarlierResultsTest, AnOutputThatAGlobWouldMatchIsFound) {
  const std::string in = root_ + "/in";
  std::filesystem::create_directories(in + "/deep");
  std::ofstream(in + "/data") << "x\n";
  const auto matched = [&](const std::string& input, const std::string& output) {
    return !CheckOutputUnmatched(storage_, {root_ + "/out", input}, output).ok();
  };
  const absl::Status found = CheckOutputUnmatched(storage_, {in + "/*"}, in + "/new");
  EXPECT_EQ(JobErrorFromStatus(found).code(), job_error::kInvalidJob);
  EXPECT_NE(found.message().find("the input " + in + "/* would match the output " + in + "/new: "),
            absl::string_view::npos)
      << found;
  EXPECT_TRUE(matched(in + "/{d*,n?w}", in + "/new"));
  EXPECT_TRUE(matched(root_ + "/i*/*", in + "/new"));
  EXPECT_TRUE(matched(in + "/*", in + "/a/b")) << "a folder above it is to be made";
  EXPECT_TRUE(matched(in + "/*/*", in + "/a/b"));
  EXPECT_TRUE(matched(in + "/*/part-*", in + "/new")) << "its parts";
  EXPECT_TRUE(matched(in + "/deep/*", in + "/deep/new"));
  std::filesystem::create_symlink(in, root_ + "/link");
  EXPECT_TRUE(matched(root_ + "/link/*", in + "/new")) << "by another way";
  EXPECT_TRUE(matched(in + "/*", root_ + "/link/new"));
  // What it will not match, or what jobs leave out.
  EXPECT_FALSE(matched(in + "/d*", in + "/new"));
  EXPECT_FALSE(matched(in + "/*.txt", in + "/new"));
  EXPECT_FALSE(matched(in + "/*", root_ + "/new"));
  EXPECT_FALSE(matched(in + "/*", in + "/_new"));
  EXPECT_FALSE(matched(in + "/*", in + "/.new"));
  EXPECT_FALSE(matched(in + "/*", in + "/_a/b"));
  EXPECT_FALSE(matched(in + "/*", in + "/a/_b"));
  EXPECT_FALSE(matched(in + "/*/*.csv", in + "/new"));
  EXPECT_FALSE(matched(in + "/data", in + "/new")) << "no glob";
  std::ofstream(in + "/n*w") << "x\n";
  EXPECT_FALSE(matched(in + "/n*w", in + "/new")) << "a file has this very name";
}

}  // namespace
}  // namespace weir::master
