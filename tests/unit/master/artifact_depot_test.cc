// Artifacts from a client over the master to its workers, on virtual time.

#include "runtime/master/artifacts/artifact_depot.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/artifacts/sha256.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/sim/world.h"

namespace weir::master {
namespace {

class ArtifactDepotTest : public ::testing::Test {
 protected:
  ArtifactDepotTest() {
    MasterOptions options;
    options.latency_s = 4e-4;
    options.artifact_directory = "/out/artifacts";
    world_.emplace(7, options, JobRates(), /*print=*/false);
    EXPECT_TRUE(world_->storage().WriteSized("/in/data", 1'000'000'000).ok());
    world_->StartMaster();
    RunFor(absl::Milliseconds(100));
  }
  void RunFor(absl::Duration duration) {
    const MonoTime end = world_->time().now() + duration;
    while (world_->time().now() < end && world_->time().RunNext()) {
    }
  }
  void AddWorkers(int n) {
    for (int w = 0; w < n; ++w) {
      sim::WorkerModel model;
      model.name = "worker-" + std::to_string(w);
      world_->StartWorker(model);
    }
    RunFor(absl::Seconds(1));
  }
  static std::string HashOf(const std::string& bytes) {
    Sha256Stream hash;
    hash.Update(bytes);
    return hash.Finish();
  }
  static v1::Artifact Named(const std::string& name, const std::string& bytes) {
    v1::Artifact artifact;
    artifact.set_name(name);
    artifact.set_sha256(HashOf(bytes));
    artifact.set_bytes(static_cast<std::int64_t>(bytes.size()));
    return artifact;
  }
  /// Sends one piece; says how much is there, or why not.
  absl::StatusOr<std::int64_t> Put(const v1::Artifact& artifact, std::int64_t offset,
                                   const std::string& data) {
    v1::PutArtifactRequest request;
    request.set_sha256(artifact.sha256());
    request.set_bytes(artifact.bytes());
    request.set_offset(offset);
    request.set_data(data);
    std::optional<absl::StatusOr<std::int64_t>> held;
    world_->master().jobs().Send<rpc::PutArtifact>(request, [&held](const auto& response) {
      if (response.ok()) {
        held = response->bytes_held();
      } else {
        held = response.status();
      }
    });
    for (int i = 0; i < 100 && !held; ++i) RunFor(absl::Milliseconds(10));
    return held ? *held : absl::InternalError("no answer");
  }
  static v1::JobSpec SpecWith(std::vector<v1::Artifact> artifacts) {
    v1::JobSpec spec;
    spec.set_job("simjob");
    spec.add_inputs("/in/data");
    spec.set_output("/out/x");
    for (v1::Artifact& artifact : artifacts) *spec.add_artifacts() = std::move(artifact);
    return spec;
  }
  absl::StatusOr<std::string> Submit(const v1::JobSpec& spec) {
    absl::StatusOr<std::string> id = absl::UnknownError("no answer");
    v1::SubmitRequest request;
    *request.mutable_spec() = spec;
    world_->master().jobs().Send<rpc::Submit>(request, [&id](const auto& response) {
      if (response.ok()) {
        id = response->job_id();
      } else {
        id = response.status();
      }
    });
    RunFor(absl::Milliseconds(100));
    return id;
  }
  v1::JobStatus StatusOf(const std::string& id) {
    v1::JobStatus found;
    v1::GetStatusRequest request;
    request.set_job_id(id);
    world_->master().jobs().Send<rpc::GetStatus>(request, [&found](const auto& response) {
      ASSERT_TRUE(response.ok()) << response.status();
      found = *response;
    });
    return found;
  }
  /// Sends all that there is from its beginning on; an empty piece asks.
  template <typename Answered>
  void Send(const v1::Artifact& artifact, const std::string& data, Answered answered) {
    v1::PutArtifactRequest request;
    request.set_sha256(artifact.sha256());
    request.set_bytes(artifact.bytes());
    request.set_data(data);
    world_->master().jobs().Send<rpc::PutArtifact>(request, std::move(answered));
  }
  bool PutWhole(const v1::Artifact& artifact, const std::string& data) {
    return Put(artifact, 0, data).value_or(0) == artifact.bytes();
  }
  std::string StoredAt(const v1::Artifact& artifact) const {
    return "/out/artifacts/" + artifact.sha256();
  }
  bool Stored(const v1::Artifact& artifact) {
    return world_->storage().Stat(StoredAt(artifact)).ok();
  }
  int CopiesOnDisks(const std::string& ending) {
    const std::vector<std::string> paths = world_->disks().Paths();
    return static_cast<int>(std::count_if(paths.begin(), paths.end(), [&](const auto& path) {
      return absl::EndsWith(path, ending);
    }));
  }

  std::optional<sim::World> world_;
};

TEST_F(ArtifactDepotTest, TakesPiecesInTurnAndForgivesTheRest) {
  const v1::Artifact artifact = Named("a", "onetwothree");
  EXPECT_EQ(*Put(artifact, 0, ""), 0);
  EXPECT_EQ(*Put(artifact, 3, "two"), 0) << "there is a gap before it";
  EXPECT_EQ(*Put(artifact, 0, "one"), 3);
  EXPECT_EQ(*Put(artifact, 0, "one"), 3) << "its answer was lost";
  EXPECT_EQ(*Put(artifact, 3, "two"), 6);
  EXPECT_FALSE(Stored(artifact));
  EXPECT_EQ(*Put(artifact, 6, "three"), 11);
  EXPECT_TRUE(Stored(artifact));
  EXPECT_EQ(*Put(artifact, 6, "three"), 11);
  EXPECT_EQ(*Put(artifact, 0, ""), 11) << "the next job's client asks";
}

TEST_F(ArtifactDepotTest, OfTwoClientsThatSendTheSameEachHelpsTheOther) {
  const v1::Artifact artifact = Named("a", "onetwothree");
  std::vector<std::int64_t> held;
  for (int client = 0; client < 2; ++client) {
    v1::PutArtifactRequest request;
    request.set_sha256(artifact.sha256());
    request.set_bytes(11);
    request.set_data("onetwothree");
    world_->master().jobs().Send<rpc::PutArtifact>(
        request, [&held](const auto& response) { held.push_back(response->bytes_held()); });
  }
  RunFor(absl::Seconds(1));
  EXPECT_EQ(held, (std::vector<std::int64_t>{11, 11}));
}

TEST_F(ArtifactDepotTest, ContentWithAnotherHashIsRefusedAndMayBeSentAnew) {
  const v1::Artifact artifact = Named("a", "sound");
  const auto refused = Put(artifact, 0, "wrong");
  EXPECT_TRUE(absl::IsDataLoss(refused.status()));
  EXPECT_EQ(JobErrorFromStatus(refused.status()).code(), job_error::kArtifactDamaged);
  EXPECT_FALSE(Stored(artifact));
  EXPECT_FALSE(world_->storage().Stat(StoredAt(artifact) + ".part").ok());
  EXPECT_EQ(*Put(artifact, 0, "sound"), 5);
}

TEST_F(ArtifactDepotTest, AnEmptyFileIsWholeAtOnce) {
  const v1::Artifact artifact = Named("empty", "");
  EXPECT_EQ(*Put(artifact, 0, ""), 0);
  EXPECT_TRUE(Stored(artifact));
}

TEST_F(ArtifactDepotTest, OneThatIsTooLargeIsRefusedByName) {
  v1::Artifact artifact = Named("a", "x");
  artifact.set_bytes(limits::kArtifactBytesMax + 1);
  EXPECT_EQ(JobErrorFromStatus(Put(artifact, 0, "").status()).code(), job_error::kArtifactTooLarge);
}

TEST_F(ArtifactDepotTest, WhatWasDamagedOnDiskIsTakenAnew) {
  const v1::Artifact artifact = Named("a", "sound");
  ASSERT_EQ(*Put(artifact, 0, "sound"), 5);
  ASSERT_TRUE(world_->storage().WriteFile(StoredAt(artifact), "spund").ok());
  EXPECT_EQ(*Put(artifact, 0, ""), 0);
  EXPECT_EQ(*Put(artifact, 0, "sound"), 5);
  EXPECT_EQ(*Put(artifact, 0, ""), 5);
}

// The pool does what it is given in any order: what one of them has removed must not be what the
// other has sent meanwhile.
TEST_F(ArtifactDepotTest, OfTwoThatFindItDamagedNeitherRemovesWhatTheOtherSends) {
  const v1::Artifact artifact = Named("a", "sound");
  world_->disk_pool().SetAtMost(absl::Milliseconds(50));
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(PutWhole(artifact, "sound")) << round;
    ASSERT_TRUE(world_->storage().RemoveAll(StoredAt(artifact)).ok());
    ASSERT_TRUE(world_->storage().WriteFileAtomically(StoredAt(artifact), "wrong").ok());
    std::vector<absl::Status> sent;
    const auto ask_and_send = [&] {
      Send(artifact, "", [&](const auto& asked) {
        if (!asked.ok() || asked->bytes_held() > 0) return sent.push_back(asked.status());
        Send(artifact, "sound", [&](const auto& put) { sent.push_back(put.status()); });
      });
    };
    ask_and_send();
    ask_and_send();
    RunFor(absl::Seconds(1));
    ASSERT_EQ(sent.size(), 2u) << round;
    for (const absl::Status& status : sent) EXPECT_TRUE(status.ok()) << round << ": " << status;
    EXPECT_TRUE(Stored(artifact)) << round;
  }
}

TEST_F(ArtifactDepotTest, WhatACrashCutShortIsTakenAnew) {
  const v1::Artifact artifact = Named("a", "sound");
  ASSERT_EQ(*Put(artifact, 0, "sound"), 5);
  ASSERT_TRUE(world_->storage().WriteFile(StoredAt(artifact), "so").ok());
  world_->RestartMaster(absl::Seconds(1));
  RunFor(absl::Seconds(3));
  EXPECT_EQ(*Put(artifact, 0, ""), 0);
  EXPECT_EQ(*Put(artifact, 0, "sound"), 5);
  v1::Artifact longer = artifact;
  longer.set_bytes(6);
  EXPECT_TRUE(absl::IsInvalidArgument(Put(longer, 0, "").status())) << "the client is wrong";
  EXPECT_EQ(*Put(artifact, 0, ""), 5) << "and does no harm";
}

TEST_F(ArtifactDepotTest, AnUploadThatStopsIsGivenUp) {
  const v1::Artifact artifact = Named("a", "onetwothree");
  ASSERT_EQ(*Put(artifact, 0, "one"), 3);
  RunFor(limits::kArtifactUploadSilence * 2);
  EXPECT_FALSE(world_->storage().Stat(StoredAt(artifact) + ".part").ok());
  EXPECT_EQ(*Put(artifact, 3, "two"), 0);
}

TEST_F(ArtifactDepotTest, MoreUploadsThanThereMayBeAtATimeAreRefusedByNameUntilOneIsDone) {
  for (int i = 0; i < limits::kArtifactUploadsMax; ++i) {
    const std::string content = "one" + std::to_string(i);
    ASSERT_EQ(*Put(Named("a", content), 0, "one"), 3) << i;
  }
  const v1::Artifact late = Named("late", "one and late");
  const auto refused = Put(late, 0, "one");
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status()));
  EXPECT_EQ(JobErrorFromStatus(refused.status()).code(), job_error::kArtifactStoreFull);
  EXPECT_EQ(*Put(Named("a", "one0"), 3, "0"), 4);
  EXPECT_EQ(*Put(late, 0, "one"), 3);
}

TEST_F(ArtifactDepotTest, WhatIsOnItsWayTakesItsRoomBeforeItIsThere) {
  constexpr std::int64_t kFit = limits::kArtifactCacheBytesMax / limits::kArtifactBytesMax;
  static_assert(kFit < limits::kArtifactUploadsMax);
  for (std::int64_t i = 0; i <= kFit; ++i) {
    v1::Artifact artifact = Named("a", std::to_string(i));
    artifact.set_bytes(limits::kArtifactBytesMax);
    const auto held = Put(artifact, 0, "one");
    if (i < kFit) {
      ASSERT_EQ(*held, 3) << i;
    } else {
      EXPECT_EQ(JobErrorFromStatus(held.status()).code(), job_error::kArtifactStoreFull);
    }
  }
}

TEST_F(ArtifactDepotTest, AJobWhoseArtifactsAreNotHereIsRefused) {
  AddWorkers(1);
  const v1::Artifact artifact = Named("dictionary", "one two");
  const auto refused = Submit(SpecWith({artifact}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(JobErrorFromStatus(refused.status()).code(), job_error::kArtifactMissing);
  EXPECT_TRUE(absl::StrContains(JobErrorFromStatus(refused.status()).message(), "dictionary"));
  ASSERT_EQ(*Put(artifact, 0, "one two"), 7);
  EXPECT_TRUE(Submit(SpecWith({artifact})).ok());
}

TEST_F(ArtifactDepotTest, EveryWorkerOfAJobGetsItsFiles) {
  AddWorkers(3);
  const std::string large(3 << 20, 'd');
  const v1::Artifact script = Named("script.py", "print(1)");
  const v1::Artifact dictionary = Named("dictionary", large);
  ASSERT_EQ(*Put(script, 0, "print(1)"), 8);
  for (int piece = 0; piece < 3; ++piece) {
    ASSERT_EQ(*Put(dictionary, piece << 20, std::string(1 << 20, 'd')), (piece + 1) << 20);
  }
  const auto id = Submit(SpecWith({script, dictionary}));
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(CopiesOnDisks("/task/script.py"), 3);
  EXPECT_EQ(CopiesOnDisks("/task/dictionary"), 3);
  RunFor(absl::Seconds(120));
  EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_SUCCEEDED) << StatusOf(*id).error().message();
  EXPECT_EQ(CopiesOnDisks("/task/script.py"), 0);
  EXPECT_EQ(CopiesOnDisks("/artifacts/" + script.sha256()), 3) << "kept for the next job";
}

// Without workers, of whose heartbeats a month has millions.
TEST_F(ArtifactDepotTest, AnUnusedOneGoesAfterItsTimeAndAUsedOneDoesNot) {
  const v1::Artifact old = Named("old", "old");
  const v1::Artifact used = Named("used", "used");
  ASSERT_EQ(*Put(old, 0, "old"), 3);
  RunFor(absl::Hours(1));
  ASSERT_EQ(*Put(used, 0, "used"), 4);
  RunFor(limits::kArtifactAgeMax - absl::Minutes(30));
  EXPECT_FALSE(Stored(old));
  EXPECT_TRUE(Stored(used));
}

TEST_F(ArtifactDepotTest, ARestartFindsWhatWasWholeAndForgetsTheRest) {
  const v1::Artifact whole = Named("a", "sound");
  const v1::Artifact part = Named("b", "onetwothree");
  ASSERT_EQ(*Put(whole, 0, "sound"), 5);
  ASSERT_EQ(*Put(part, 0, "one"), 3);
  world_->RestartMaster(absl::Seconds(1));
  RunFor(absl::Seconds(3));
  EXPECT_EQ(*Put(whole, 0, ""), 5);
  EXPECT_EQ(*Put(part, 0, ""), 0);
  EXPECT_FALSE(world_->storage().Stat(StoredAt(part) + ".part").ok());
}

}  // namespace
}  // namespace weir::master
