#include "runtime/master/output/staged_output.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "tests/sim/memory_storage.h"

namespace weir::master {
namespace {

class StagedOutputTest : public ::testing::Test {
 protected:
  StagedOutputTest() : places_("/out/result/", "j-1") {
    head_.weir_version = "1.2.3";
    head_.job_id = "j-1";
    head_.plan_id = "00112233aabbccdd";
    head_.spec.set_job("wordcount");
    head_.spec.set_output("/out/result");
    v1::JobParameter& parameter = *head_.spec.add_parameters();
    parameter.set_name("top");
    parameter.set_value("10");
    EXPECT_TRUE(storage_.MakeDirectory("/out").ok());
  }

  std::vector<CommittedPart> StageParts() {
    EXPECT_TRUE(StageOutput(storage_, places_, false).ok());
    std::vector<CommittedPart> parts;
    for (const int index : {1, 0}) {
      CommittedPart& part = parts.emplace_back();
      part.index = index;
      part.part.set_bytes(100 + index);
      part.part.set_records(7);
      part.part.set_xxh3_64("0123456789abcdef");
      EXPECT_TRUE(
          storage_.WriteSized(places_.staging + "/" + StagedPartName(index, 1), 100 + index).ok());
    }
    // What an attempt left that never committed.
    EXPECT_TRUE(storage_.WriteSized(places_.staging + "/part-00000.2", 55).ok());
    return parts;
  }
  bool Exists(const std::string& path) { return storage_.Stat(path).ok(); }
  std::string CodeOf(const absl::Status& status) { return JobErrorFromStatus(status).code(); }

  sim::MemoryStorage storage_;
  const OutputPlaces places_;
  ManifestHead head_;
};

TEST_F(StagedOutputTest, PublishesPartsAndManifestAndNothingElse) {
  const auto parts = CommitOutput(storage_, places_, false, head_, StageParts());
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].file(), "part-00000");
  EXPECT_EQ(storage_.Paths(),
            (std::vector<std::string>{"/", "/out", "/out/result", "/out/result/manifest.json",
                                      "/out/result/part-00000", "/out/result/part-00001"}));
  const auto manifest =
      nlohmann::json::parse(*storage_.ReadFile("/out/result/manifest.json", 1 << 20));
  EXPECT_EQ(manifest["schema"], 1);
  EXPECT_EQ(manifest["weir_version"], "1.2.3");
  EXPECT_EQ(manifest["plan_id"], "00112233aabbccdd");
  EXPECT_EQ(manifest["parameters"]["top"], "10");
  EXPECT_EQ(manifest["parts"][1]["bytes"], 101);
  EXPECT_EQ(manifest["parts"][1]["xxh3_64"], "0123456789abcdef");
}

TEST_F(StagedOutputTest, MissingOrShortPartIsDataLoss) {
  auto parts = StageParts();
  parts[0].part.set_bytes(999);
  EXPECT_EQ(CodeOf(CommitOutput(storage_, places_, false, head_, parts).status()),
            job_error::kDataLoss);
  parts[0].index = 5;
  EXPECT_EQ(CodeOf(CommitOutput(storage_, places_, false, head_, parts).status()),
            job_error::kDataLoss);
  EXPECT_FALSE(Exists("/out/result"));
}

TEST_F(StagedOutputTest, ExistingOutputIsRefusedUnlessOverwritten) {
  v1::JobSpec spec;
  spec.set_output("/out/result");
  EXPECT_TRUE(CheckOutput(storage_, spec).ok());
  ASSERT_TRUE(storage_.MakeDirectory("/out/result").ok());
  EXPECT_EQ(CodeOf(CheckOutput(storage_, spec)), job_error::kOutputExists);
  EXPECT_EQ(CodeOf(StageOutput(storage_, places_, false)), job_error::kOutputExists);
  spec.set_overwrite(true);
  EXPECT_TRUE(CheckOutput(storage_, spec).ok());
  spec.set_output("/nowhere/result");
  EXPECT_EQ(CodeOf(CheckOutput(storage_, spec)), job_error::kInvalidJob);
}

TEST_F(StagedOutputTest, OverwriteReplacesTheOldOutput) {
  const auto parts = StageParts();
  ASSERT_TRUE(storage_.MakeDirectory("/out/result").ok());
  ASSERT_TRUE(storage_.WriteSized("/out/result/old", 1).ok());
  ASSERT_TRUE(CommitOutput(storage_, places_, true, head_, parts).ok());
  EXPECT_FALSE(Exists("/out/result/old"));
  EXPECT_TRUE(Exists("/out/result/part-00001"));
  EXPECT_FALSE(Exists(places_.replaced));
}

TEST_F(StagedOutputTest, FullDiskHasItsName) {
  storage_.SetFull(true);
  EXPECT_EQ(CodeOf(StageOutput(storage_, places_, false)), job_error::kDiskFull);
}

TEST_F(StagedOutputTest, ForeignManifestIsNotOurs) {
  ASSERT_TRUE(storage_.MakeDirectory("/out/result").ok());
  for (const char* text : {"", "[]", R"({"job_id": 7})", R"({"job_id": "j-2"})"}) {
    ASSERT_TRUE(storage_.WriteFileAtomically("/out/result/manifest.json", text).ok());
    EXPECT_TRUE(absl::IsNotFound(SettleOutput(storage_, places_, "j-1").status())) << text;
    EXPECT_TRUE(Exists("/out/result"));
  }
}

/// A crash after every single file operation of an overwriting commit: afterwards the output is the
/// old one whole or the new one whole, and settling leaves nothing beside it.
TEST_F(StagedOutputTest, CrashAnywhereLeavesOldOrNewOutputWhole) {
  int crashes = 0;
  for (int allowed = 0;; ++allowed) {
    storage_ = sim::MemoryStorage();
    ASSERT_TRUE(storage_.MakeDirectory("/out").ok());
    const auto parts = StageParts();
    ASSERT_TRUE(storage_.MakeDirectory("/out/result").ok());
    ASSERT_TRUE(storage_.WriteSized("/out/result/old", 1).ok());
    storage_.SetGate([left = allowed](const char*, const std::string&) mutable {
      return left-- > 0 ? absl::OkStatus() : absl::UnavailableError("crashed (simulated)");
    });
    const bool committed = CommitOutput(storage_, places_, true, head_, parts).ok();
    storage_.SetGate(nullptr);
    const auto settled = SettleOutput(storage_, places_, "j-1");
    EXPECT_TRUE(settled.ok() || absl::IsNotFound(settled.status())) << settled.status();
    EXPECT_EQ(Exists("/out/result/part-00000"), settled.ok()) << allowed;
    EXPECT_NE(Exists("/out/result/old"), settled.ok()) << allowed;
    EXPECT_FALSE(Exists(places_.staging)) << allowed;
    EXPECT_FALSE(Exists(places_.replaced)) << allowed;
    if (committed && settled.ok() && crashes > 0 && allowed > 40) break;
    crashes += committed ? 0 : 1;
    ASSERT_LT(allowed, 100);
  }
  EXPECT_GT(crashes, 10);
}

TEST_F(StagedOutputTest, CommitMayBeRepeatedAfterACrash) {
  for (int allowed = 0; allowed < 60; ++allowed) {
    storage_ = sim::MemoryStorage();
    ASSERT_TRUE(storage_.MakeDirectory("/out").ok());
    const auto parts = StageParts();
    storage_.SetGate([left = allowed](const char*, const std::string&) mutable {
      return left-- > 0 ? absl::OkStatus() : absl::UnavailableError("crashed (simulated)");
    });
    CommitOutput(storage_, places_, false, head_, parts).status().IgnoreError();
    storage_.SetGate(nullptr);
    const auto again = CommitOutput(storage_, places_, false, head_, parts);
    ASSERT_TRUE(again.ok()) << allowed << ": " << again.status();
    EXPECT_EQ(again->size(), 2u);
  }
}

}  // namespace
}  // namespace weir::master
