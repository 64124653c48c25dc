#include "runtime/artifacts/artifact_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "runtime/artifacts/sha256.h"
#include "runtime/base/job_errors.h"
#include "runtime/env/real/posix_storage.h"

namespace weir {
namespace {

class ArtifactFilesTest : public testing::Test {
 protected:
  ArtifactFilesTest() {
    char name[] = "/tmp/weir-artifacts-XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~ArtifactFilesTest() override { std::filesystem::remove_all(dir_); }
  std::string Put(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(storage_.WriteFile(dir_ + "/" + name, bytes).ok());
    return dir_ + "/" + name;
  }
  static std::string HashOf(const std::string& bytes) {
    Sha256Stream hash;
    hash.Update(bytes);
    return hash.Finish();
  }

  std::string dir_;
  env::PosixStorage storage_;
};

TEST_F(ArtifactFilesTest, HashesAFileOfSeveralPieces) {
  const std::string bytes(3'000'001, 'x');
  const auto found = HashFile(storage_, Put("a", bytes), 4'000'000);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->bytes, 3'000'001);
  EXPECT_EQ(found->sha256, HashOf(bytes));
}

TEST_F(ArtifactFilesTest, RefusesAFileThatIsTooLargeByName) {
  const auto found = HashFile(storage_, Put("a", "12345"), 4);
  EXPECT_EQ(JobErrorFromStatus(found.status()).code(), job_error::kArtifactTooLarge);
  EXPECT_TRUE(HashFile(storage_, dir_ + "/a", 5).ok());
}

TEST_F(ArtifactFilesTest, TellsADamagedFileFromAMissingOne) {
  const std::string path = Put("a", "what it was");
  const ArtifactContent content = {HashOf("what it was"), 11};
  EXPECT_TRUE(VerifyArtifact(storage_, path, content, "a.so").ok());
  Put("a", "what it is!");
  const absl::Status damaged = VerifyArtifact(storage_, path, content, "a.so");
  EXPECT_TRUE(absl::IsDataLoss(damaged));
  EXPECT_EQ(JobErrorFromStatus(damaged).code(), job_error::kArtifactDamaged);
  EXPECT_NE(JobErrorFromStatus(damaged).message().find("a.so"), std::string::npos);
  EXPECT_TRUE(absl::IsNotFound(VerifyArtifact(storage_, dir_ + "/b", content, "b.so")));
}

TEST_F(ArtifactFilesTest, ListsWhatIsWholeAndRemovesTheRest) {
  const std::string hash = HashOf("abc");
  const std::string folder = dir_ + "/artifacts";
  EXPECT_TRUE(ListArtifacts(storage_, folder).empty()) << "nothing was kept yet";
  ASSERT_TRUE(MakeArtifactDirectory(storage_, folder).ok());
  ASSERT_TRUE(MakeArtifactDirectory(storage_, folder).ok()) << "it may be there";
  Put("artifacts/" + hash, "abc");
  Put("artifacts/" + hash + ".part", "a");
  Put("artifacts/" + hash + ".j-7.part", "a");
  Put("artifacts/readme", "somebody's");
  const auto found = ListArtifacts(storage_, folder);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sha256, hash);
  EXPECT_EQ(found[0].bytes, 3);
  EXPECT_FALSE(std::filesystem::exists(folder + "/" + hash + ".part"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/" + hash + ".j-7.part"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/readme")) << "not ours to remove";
}

}  // namespace
}  // namespace weir
