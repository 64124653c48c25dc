#include "runtime/master/output/staged_output.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/output/old_output.h"
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

  /// What job j-0 published at the same place, with the pictures of its client.
  void PublishOldOutput() {
    ManifestHead head = head_;
    head.job_id = "j-0";
    v1::OutputPart part;
    part.set_file("part-00000");
    part.set_bytes(5);
    part.set_xxh3_64("0123456789abcdef");
    EXPECT_TRUE(storage_.MakeDirectory("/out/result").ok());
    EXPECT_TRUE(storage_.WriteSized("/out/result/part-00000", 5).ok());
    EXPECT_TRUE(storage_.MakeDirectory("/out/result/_weir").ok());
    EXPECT_TRUE(storage_.WriteSized("/out/result/_weir/plan.json", 1).ok());
    EXPECT_TRUE(
        storage_.WriteFileAtomically("/out/result/manifest.json", ManifestText(head, {part})).ok());
  }
  std::vector<CommittedPart> StageParts(bool overwrite = false) {
    const absl::Status staged = StageOutput(storage_, places_, overwrite);
    EXPECT_TRUE(staged.ok()) << staged;
    std::vector<CommittedPart> parts;
    for (const int index : {1, 0}) {
      CommittedPart& part = parts.emplace_back();
      part.index = index;
      part.part.set_bytes(100 + index);
      part.part.set_records(7);
      part.part.set_xxh3_64("0123456789abcdef");
      EXPECT_TRUE(
          storage_.WriteSized(places_.staging + "/" + StagedPartName(index, 1, 1), 100 + index)
              .ok());
    }
    // What attempts left that never committed, the second one under another plan.
    for (const char* left : {"/part-00000.1.2", "/part-00000.2.1"}) {
      EXPECT_TRUE(storage_.WriteSized(places_.staging + left, 55).ok());
    }
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

TEST_F(StagedOutputTest, APartOfAnotherSizeNamesWhoToldOfIt) {
  auto parts = StageParts();
  parts[0].part.set_bytes(999);
  parts[0].worker = "w2";
  const v1::JobError error =
      JobErrorFromStatus(CommitOutput(storage_, places_, false, head_, parts).status());
  EXPECT_EQ(error.worker(), "w2");
  EXPECT_NE(error.message().find("with 999 bytes by worker w2, the master finds 101 bytes"),
            std::string::npos)
      << error.message();
}

TEST_F(StagedOutputTest, APartThatIsNotAsToldIsItsWorkersFaultAndNothingIsNamed) {
  for (const char* of_the_other : {"w1", "w2"}) {
    storage_ = sim::MemoryStorage();
    ASSERT_TRUE(storage_.MakeDirectory("/out").ok());
    auto parts = StageParts();
    parts[0].part.set_bytes(999);
    parts[0].worker = "w2";
    parts[1].worker = of_the_other;
    const v1::JobError error =
        JobErrorFromStatus(CommitOutput(storage_, places_, false, head_, parts).status());
    EXPECT_EQ(error.worker(), "w2");
    EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << "beside one of " << of_the_other;
    EXPECT_TRUE(Exists(places_.staging + "/part-00000.1.1"));
    EXPECT_FALSE(Exists(places_.staging + "/part-00000")) << "for another plan to find";
  }
}

TEST_F(StagedOutputTest, WhereNobodysPartsAreAsToldItIsNoWorkersFault) {
  auto parts = StageParts();
  for (CommittedPart& part : parts) part.part.set_bytes(999);
  parts[0].worker = "w2";
  parts[1].worker = "w1";
  const v1::JobError error =
      JobErrorFromStatus(CommitOutput(storage_, places_, false, head_, parts).status());
  EXPECT_EQ(error.code(), job_error::kDataLoss);
  EXPECT_EQ(error.worker(), "w1") << "of the first part";
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_UNSPECIFIED);
}

TEST_F(StagedOutputTest, APartThatChangesAsItIsNamedIsNoWorkersFault) {
  const auto parts = StageParts();
  bool changed = false;
  storage_.SetGate([&](const char* operation, const std::string& path) {
    if (std::string_view(operation) == "rename" && path == places_.staging + "/part-00000.1.1") {
      changed = true;
      EXPECT_TRUE(storage_.WriteSized(path, 55).ok());
    }
    return absl::OkStatus();
  });
  const v1::JobError error =
      JobErrorFromStatus(CommitOutput(storage_, places_, false, head_, parts).status());
  EXPECT_TRUE(changed);
  EXPECT_EQ(error.code(), job_error::kDataLoss);
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_UNSPECIFIED) << "part-00000 is named, and stays";
}

TEST_F(StagedOutputTest, AFileInTheWayIsNoneToRemoveOrOverwrite) {
  ASSERT_TRUE(storage_.WriteSized("/out/result", 5).ok());
  v1::JobSpec spec = head_.spec;
  for (const bool overwrite : {false, true}) {
    spec.set_overwrite(overwrite);
    const v1::JobError error = JobErrorFromStatus(CheckOutput(storage_, spec));
    EXPECT_EQ(error.code(), job_error::kOutputExists);
    EXPECT_EQ(error.message(), "output exists and is no directory: /out/result");
    EXPECT_EQ(error.advice(), "choose a directory; --overwrite replaces directories only");
  }
}

TEST_F(StagedOutputTest, ExistingOutputIsRefusedUnlessOverwritten) {
  v1::JobSpec spec;
  spec.set_output("/out/result");
  EXPECT_TRUE(CheckOutput(storage_, spec).ok());
  ASSERT_TRUE(storage_.MakeDirectory("/out/result").ok());
  EXPECT_EQ(CodeOf(CheckOutput(storage_, spec)), job_error::kOutputExists);
  EXPECT_EQ(CodeOf(StageOutput(storage_, places_, false)), job_error::kOutputExists);
  spec.set_overwrite(true);
  EXPECT_TRUE(CheckOutput(storage_, spec).ok()) << "an empty directory";
  spec.set_output("/nowhere/result");
  EXPECT_EQ(CodeOf(CheckOutput(storage_, spec)), job_error::kInvalidJob);
}

TEST_F(StagedOutputTest, OverwriteOfWhatWeirDidNotWriteIsRefusedAndNamed) {
  PublishOldOutput();
  v1::JobSpec spec;
  spec.set_output("/out/result");
  spec.set_overwrite(true);
  EXPECT_TRUE(CheckOutput(storage_, spec).ok());
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(storage_.WriteSized(absl::StrCat("/out/result/", name), 1).ok());
  }
  const absl::Status refused = CheckOutput(storage_, spec);
  EXPECT_EQ(CodeOf(refused), job_error::kOutputExists);
  EXPECT_NE(refused.message().find("/out/result holds a, b, c and 1 more"), std::string::npos)
      << refused;
  EXPECT_NE(JobErrorFromStatus(refused).advice().find("move these away"), std::string::npos);
}

TEST_F(StagedOutputTest, MountPointIsRefusedBeforeTheJob) {
  v1::JobSpec spec;
  spec.set_output("/out/result");
  ASSERT_TRUE(storage_.MakeDirectory("/out/result").ok());
  storage_.SetMountPoint("/out/result");
  for (const bool overwrite : {false, true}) {
    spec.set_overwrite(overwrite);
    const absl::Status refused = CheckOutput(storage_, spec);
    EXPECT_EQ(CodeOf(refused), job_error::kOutputUnusable);
    EXPECT_NE(refused.message().find("mount point"), std::string::npos) << refused;
  }
}

TEST_F(StagedOutputTest, OverwriteReplacesTheOldOutput) {
  for (const bool exchanges : {true, false}) {
    storage_ = sim::MemoryStorage();
    storage_.SetExchanges(exchanges);
    ASSERT_TRUE(storage_.MakeDirectory("/out").ok());
    PublishOldOutput();
    ASSERT_TRUE(CommitOutput(storage_, places_, true, head_, StageParts(true)).ok());
    EXPECT_EQ(storage_.Paths(),
              (std::vector<std::string>{"/", "/out", "/out/result", "/out/result/manifest.json",
                                        "/out/result/part-00000", "/out/result/part-00001"}));
  }
}

TEST_F(StagedOutputTest, WithExchangeThereIsAnOutputAtEveryMoment) {
  PublishOldOutput();
  const auto parts = StageParts(true);
  storage_.SetGate([this](const char*, const std::string&) {
    const std::vector<std::string> paths = storage_.Paths();
    EXPECT_NE(std::find(paths.begin(), paths.end(), "/out/result/manifest.json"), paths.end());
    return absl::OkStatus();
  });
  EXPECT_TRUE(CommitOutput(storage_, places_, true, head_, parts).ok());
}

TEST_F(StagedOutputTest, WhatAppearedMeanwhileStaysAside) {
  for (const bool exchanges : {true, false}) {
    storage_ = sim::MemoryStorage();
    storage_.SetExchanges(exchanges);
    ASSERT_TRUE(storage_.MakeDirectory("/out").ok());
    PublishOldOutput();
    const auto parts = StageParts(true);
    ASSERT_TRUE(storage_.WriteSized("/out/result/thesis.txt", 1).ok());
    testing::internal::CaptureStderr();
    ASSERT_TRUE(CommitOutput(storage_, places_, true, head_, parts).ok());
    EXPECT_TRUE(Exists("/out/result/part-00001"));
    EXPECT_FALSE(Exists("/out/result/thesis.txt"));
    EXPECT_TRUE(Exists(places_.replaced + "/thesis.txt"));
    EXPECT_TRUE(Exists(places_.replaced + "/part-00000"));
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find(places_.replaced), std::string::npos) << log;
    EXPECT_NE(log.find("thesis.txt"), std::string::npos) << log;
    EXPECT_TRUE(SettleOutput(storage_, places_, "j-1").ok());
    EXPECT_TRUE(Exists(places_.replaced + "/thesis.txt")) << "after a restart too";
  }
}

TEST_F(StagedOutputTest, ASubmissionBetweenTheRenamesDoesNotKeepTheNewOutputOut) {
  storage_.SetExchanges(false);
  PublishOldOutput();
  const auto parts = StageParts(true);
  int put_back = 0;
  storage_.SetGate([&](const char* operation, const std::string& path) {
    const bool between = operation == std::string("rename") && path == places_.staging &&
                         !Exists("/out/result") && Exists(places_.replaced);
    if (between && put_back < 2) {
      ++put_back;
      EXPECT_TRUE(RestoreOldOutput(storage_, "/out/result").ok());
      EXPECT_TRUE(Exists("/out/result"));
    }
    return absl::OkStatus();
  });
  const auto committed = CommitOutput(storage_, places_, true, head_, parts);
  EXPECT_TRUE(committed.ok()) << committed.status();
  EXPECT_EQ(put_back, 2);
  EXPECT_TRUE(Exists("/out/result/part-00001"));
  EXPECT_FALSE(Exists(places_.replaced));
}

TEST_F(StagedOutputTest, FullDiskHasItsName) {
  storage_.SetFull(true);
  EXPECT_EQ(CodeOf(StageOutput(storage_, places_, false)), job_error::kDiskFull);
}

// A crash between the exchange and the removal of the old output, then a disk that does not answer:
// nothing is removed while nobody knows what it is.
TEST_F(StagedOutputTest, WhatCannotBeLookedAtIsNotSettled) {
  PublishOldOutput();
  const auto parts = StageParts(true);
  bool exchanged = false;
  storage_.SetGate([&](const char* operation, const std::string&) {
    if (exchanged) return absl::UnavailableError("crashed (simulated)");
    exchanged = std::string_view(operation) == "exchange";
    return absl::OkStatus();
  });
  EXPECT_TRUE(CommitOutput(storage_, places_, true, head_, parts).ok());
  ASSERT_TRUE(exchanged);
  storage_.SetGate([](const char* operation, const std::string&) {
    return std::string_view(operation) == "read" ? ErrnoStatus(EIO, "cannot read")
                                                 : absl::OkStatus();
  });
  EXPECT_EQ(ErrnoOf(SettleOutput(storage_, places_, "j-1").status()), EIO);
  EXPECT_EQ(CodeOf(CommitOutput(storage_, places_, true, head_, parts).status()),
            job_error::kOutputUnusable);
  storage_.SetGate(nullptr);
  EXPECT_TRUE(Exists(places_.staging + "/part-00000")) << "of the old output";
  const auto settled = SettleOutput(storage_, places_, "j-1");
  ASSERT_TRUE(settled.ok()) << settled.status();
  EXPECT_EQ(settled->size(), 2u);
  EXPECT_FALSE(Exists(places_.staging));
}

TEST_F(StagedOutputTest, APartThatIsMadeWhileTheOutputAppearsIsNoneOfIt) {
  const auto parts = StageParts();
  bool made = false;
  storage_.SetGate([&](const char* operation, const std::string& path) {
    if (std::string_view(operation) == "rename" && path == places_.staging && !made) {
      made = true;
      EXPECT_TRUE(storage_.WriteSized(path + "/part-00001.1.3", 5).ok());
    }
    return absl::OkStatus();
  });
  ASSERT_TRUE(CommitOutput(storage_, places_, false, head_, parts).ok());
  EXPECT_TRUE(made);
  EXPECT_TRUE(Exists("/out/result/part-00001"));
  EXPECT_FALSE(Exists("/out/result/part-00001.1.3"));
}

TEST_F(StagedOutputTest, ForeignManifestIsNotOurs) {
  ASSERT_TRUE(storage_.MakeDirectory("/out/result").ok());
  for (const char* text : {"", "[]", R"({"job_id": 7})", R"({"job_id": "j-2"})"}) {
    ASSERT_TRUE(storage_.WriteFileAtomically("/out/result/manifest.json", text).ok());
    EXPECT_TRUE(absl::IsNotFound(SettleOutput(storage_, places_, "j-1").status())) << text;
    EXPECT_TRUE(Exists("/out/result"));
  }
}

class CrashTest : public StagedOutputTest, public testing::WithParamInterface<bool> {
 protected:
  /// Both ways of replacing: by exchange, and by two renames.
  void MakeWorld() {
    storage_ = sim::MemoryStorage();
    storage_.SetExchanges(GetParam());
    EXPECT_TRUE(storage_.MakeDirectory("/out").ok());
    PublishOldOutput();
  }
  bool OldOutputIsWhole() {
    return Exists("/out/result/_weir/plan.json") && Exists("/out/result/part-00000") &&
           Exists("/out/result/manifest.json");
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, CrashTest, testing::Bool());

/// A crash after every single file operation of an overwriting commit: afterwards the output is the
/// old one whole or the new one whole, and settling leaves nothing beside it.
TEST_P(CrashTest, AnywhereLeavesOldOrNewOutputWhole) {
  int crashes = 0;
  for (int allowed = 0;; ++allowed) {
    MakeWorld();
    const auto parts = StageParts(true);
    storage_.SetGate([left = allowed](const char*, const std::string&) mutable {
      return left-- > 0 ? absl::OkStatus() : absl::UnavailableError("crashed (simulated)");
    });
    const bool committed = CommitOutput(storage_, places_, true, head_, parts).ok();
    storage_.SetGate(nullptr);
    const auto settled = SettleOutput(storage_, places_, "j-1");
    EXPECT_TRUE(settled.ok() || absl::IsNotFound(settled.status())) << settled.status();
    EXPECT_EQ(Exists("/out/result/part-00001"), settled.ok()) << allowed;
    EXPECT_NE(OldOutputIsWhole(), settled.ok()) << allowed;
    EXPECT_FALSE(Exists(places_.staging)) << allowed;
    EXPECT_FALSE(Exists(places_.replaced)) << allowed;
    EXPECT_FALSE(Exists(places_.removed)) << allowed;
    if (committed && settled.ok() && crashes > 0 && allowed > 40) break;
    crashes += committed ? 0 : 1;
    ASSERT_LT(allowed, 100);
  }
  EXPECT_GT(crashes, 10);
}

/// The same crashes, and nobody settles (an embedded run has no journal): the next run finds the
/// old output or the new one, whole.
TEST_P(CrashTest, AnywhereIsMendedByTheNextRun) {
  int restored = 0;
  for (int allowed = 0; allowed < 60; ++allowed) {
    MakeWorld();
    const auto parts = StageParts(true);
    storage_.SetGate([left = allowed](const char*, const std::string&) mutable {
      return left-- > 0 ? absl::OkStatus() : absl::UnavailableError("crashed (simulated)");
    });
    CommitOutput(storage_, places_, true, head_, parts).status().IgnoreError();
    storage_.SetGate(nullptr);
    restored += Exists("/out/result") ? 0 : 1;
    EXPECT_TRUE(RestoreOldOutput(storage_, "/out/result/").ok()) << allowed;
    EXPECT_NE(OldOutputIsWhole(), Exists("/out/result/part-00001")) << allowed;
    v1::JobSpec spec;
    spec.set_output("/out/result");
    spec.set_overwrite(true);
    EXPECT_TRUE(CheckOutput(storage_, spec).ok()) << allowed;
  }
  EXPECT_EQ(restored > 0, !GetParam()) << "only two renames leave a moment without output";
}

TEST_P(CrashTest, CommitMayBeRepeated) {
  for (int allowed = 0; allowed < 60; ++allowed) {
    MakeWorld();
    const auto parts = StageParts(true);
    storage_.SetGate([left = allowed](const char*, const std::string&) mutable {
      return left-- > 0 ? absl::OkStatus() : absl::UnavailableError("crashed (simulated)");
    });
    CommitOutput(storage_, places_, true, head_, parts).status().IgnoreError();
    storage_.SetGate(nullptr);
    const auto again = CommitOutput(storage_, places_, true, head_, parts);
    ASSERT_TRUE(again.ok()) << allowed << ": " << again.status();
    EXPECT_EQ(storage_.Paths().size(), 6u) << allowed;
  }
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
