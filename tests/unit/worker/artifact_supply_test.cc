// How artifacts come to a worker: the decisions alone, then the daemon whole with real files.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/artifacts/sha256.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/worker/artifact_supply_machine.h"
#include "tests/unit/worker/worker_daemon_fixture.h"

namespace weir::worker {
namespace {

using Act = ArtifactSupplyMachine::Act;

TEST(ArtifactSupplyMachineTest, TakesWhatTheCacheHas) {
  ArtifactSupplyMachine machine(2);
  EXPECT_EQ(machine.act(), Act::kLink);
  machine.Ended(absl::OkStatus());
  EXPECT_EQ(machine.act(), Act::kLink);
  EXPECT_EQ(machine.index(), 1);
  machine.Ended(absl::OkStatus());
  EXPECT_EQ(machine.act(), Act::kDone);
  EXPECT_EQ(ArtifactSupplyMachine(0).act(), Act::kDone);
}

TEST(ArtifactSupplyMachineTest, FetchesWhatIsMissing) {
  ArtifactSupplyMachine machine(1);
  machine.Ended(absl::NotFoundError("not cached"));
  EXPECT_EQ(machine.act(), Act::kFetch);
  machine.Ended(absl::OkStatus());
  EXPECT_EQ(machine.act(), Act::kLink);
  machine.Ended(absl::OkStatus());
  EXPECT_EQ(machine.act(), Act::kDone);
}

TEST(ArtifactSupplyMachineTest, FetchesADamagedOneAgainOnce) {
  ArtifactSupplyMachine machine(2);
  machine.Ended(absl::DataLossError("cached copy"));
  EXPECT_EQ(machine.act(), Act::kFetch);
  machine.Ended(absl::DataLossError("fetched copy"));
  EXPECT_EQ(machine.act(), Act::kFail);
  EXPECT_EQ(machine.failure().message(), "fetched copy");

  ArtifactSupplyMachine lucky(2);
  lucky.Ended(absl::NotFoundError(""));
  lucky.Ended(absl::DataLossError("fetched copy"));
  EXPECT_EQ(lucky.act(), Act::kFetch) << "that was the first copy";
  lucky.Ended(absl::OkStatus());
  lucky.Ended(absl::OkStatus());
  EXPECT_EQ(lucky.index(), 1);
  lucky.Ended(absl::DataLossError("another artifact"));
  EXPECT_EQ(lucky.act(), Act::kFetch) << "each has its own second try";
}

TEST(ArtifactSupplyMachineTest, EndsWhateverHappens) {
  ArtifactSupplyMachine forgetful(1);
  for (int i = 0; i < 3; ++i) {
    forgetful.Ended(absl::NotFoundError("gone"));
    ASSERT_EQ(forgetful.act(), Act::kFetch);
    forgetful.Ended(absl::OkStatus());
  }
  forgetful.Ended(absl::NotFoundError("gone"));
  EXPECT_EQ(forgetful.act(), Act::kFail) << "a cache that loses what it gets";

  ArtifactSupplyMachine refused(1);
  refused.Ended(absl::NotFoundError("not cached"));
  refused.Ended(absl::NotFoundError("the master does not hold it"));
  EXPECT_EQ(refused.act(), Act::kFail);

  ArtifactSupplyMachine full(1);
  full.Ended(absl::ResourceExhaustedError("no space left on device"));
  EXPECT_EQ(full.act(), Act::kFail);
}

// A disk that has room for the first piece of an artifact.
class FullAfterOnePiece final : public env::PosixStorage {
 public:
  absl::Status WriteAt(const std::string& path, std::int64_t offset,
                       std::string_view bytes) override {
    if (offset > 0) return ErrnoStatus(ENOSPC, "cannot write " + path);
    return PosixStorage::WriteAt(path, offset, bytes);
  }
};

class ArtifactSupplyTest : public WorkerDaemonTest {
 protected:
  v1::Artifact Keep(const std::string& name, const std::string& bytes, bool executable = false) {
    Sha256Stream hash;
    hash.Update(bytes);
    v1::Artifact artifact;
    artifact.set_name(name);
    artifact.set_sha256(hash.Finish());
    artifact.set_bytes(static_cast<std::int64_t>(bytes.size()));
    artifact.set_executable(executable);
    master_.artifacts[artifact.sha256()] = bytes;
    return artifact;
  }
  absl::Status PrepareWith(const std::vector<v1::Artifact>& artifacts) {
    return Order<rpc::PrepareJob>(RequestWith(artifacts)).status();
  }
  v1::PrepareJobRequest RequestWith(const std::vector<v1::Artifact>& artifacts) const {
    v1::PrepareJobRequest request;
    *request.mutable_fence() = FenceNow();
    request.mutable_spec()->set_job("wordcount");
    for (const v1::Artifact& artifact : artifacts) {
      *request.mutable_spec()->add_artifacts() = artifact;
    }
    request.set_staging_dir(staging_);
    request.set_job_token(99);
    return request;
  }
  std::string Cached(const v1::Artifact& artifact) const {
    return daemon_->directory() + "/artifacts/" + artifact.sha256();
  }
  // Names in the cache, which outlives the jobs.
  std::vector<std::string> NamesInCache() const {
    return env::PosixStorage()
        .ListNames(daemon_->directory() + "/artifacts")
        .value_or(std::vector<std::string>{"no cache"});
  }
  static std::string Read(const std::string& path) {
    return env::PosixStorage().ReadFile(path, 100 << 20).value_or("no file");
  }

  FullAfterOnePiece full_;
};

TEST_F(ArtifactSupplyTest, FilesAreInTheTasksDirectoryBeforeItStarts) {
  StartRegistered("good");
  const std::string large(2'500'000, 'm');  // three pieces
  const v1::Artifact module = Keep("libjob.so", large, true);
  const v1::Artifact empty = Keep("empty", "");
  ASSERT_TRUE(PrepareWith({module, empty}).ok());
  EXPECT_EQ(Read(JobFile("task/libjob.so")), large);
  EXPECT_EQ(Read(JobFile("task/empty")), "");
  using std::filesystem::perms;
  const auto mode = [this](const char* name) {
    return std::filesystem::status(JobFile(name)).permissions();
  };
  EXPECT_EQ(mode("task/libjob.so"), perms::owner_read | perms::owner_exec);
  EXPECT_EQ(mode("task/empty"), perms::owner_read);
  EXPECT_EQ(master_.artifact_offsets, (std::vector<std::int64_t>{0, 1 << 20, 2 << 20}));
  ASSERT_TRUE(Release().ok());
  EXPECT_FALSE(std::filesystem::exists(JobFile(""))) << "read-only files go as well";
  EXPECT_TRUE(std::filesystem::exists(Cached(module))) << "for the next job";
}

TEST_F(ArtifactSupplyTest, ArchivesLieBesideTheTasksDirectory) {
  StartRegistered("good");
  v1::Artifact archive = Keep("lib", "what a task unpacks");
  archive.set_unpack(true);
  ASSERT_TRUE(PrepareWith({archive, Keep("words", "one")}).ok());
  EXPECT_EQ(Read(JobFile("archives/lib")), "what a task unpacks");
  EXPECT_FALSE(std::filesystem::exists(JobFile("task/lib"))) << "its folder is the task's to make";
  EXPECT_EQ(Read(JobFile("task/words")), "one");
}

TEST_F(ArtifactSupplyTest, TheNextJobFetchesNothing) {
  StartRegistered("good");
  const v1::Artifact file = Keep("words", "one two three");
  ASSERT_TRUE(PrepareWith({file}).ok());
  ASSERT_TRUE(Release().ok());
  v1::Artifact renamed = file;
  renamed.set_name("other-name");
  v1::PrepareJobRequest request = RequestWith({renamed});
  request.mutable_fence()->set_job_id("k");
  std::ofstream(staging_ + "/.weir-job-k") << "";
  ASSERT_TRUE(Order<rpc::PrepareJob>(request).ok());
  EXPECT_EQ(Read(daemon_->directory() + "/jobs/k/task/other-name"), "one two three");
  EXPECT_EQ(master_.artifact_offsets.size(), 1u);
}

TEST_F(ArtifactSupplyTest, ADamagedCopyInTheCacheIsFetchedAgain) {
  StartRegistered("good");
  const v1::Artifact file = Keep("words", "one two three");
  ASSERT_TRUE(PrepareWith({file}).ok());
  ASSERT_TRUE(Release().ok());
  std::filesystem::permissions(Cached(file), std::filesystem::perms::owner_all);
  std::ofstream(Cached(file)) << "one two thrEE";
  v1::PrepareJobRequest request = RequestWith({file});
  request.mutable_fence()->set_job_id("k");
  std::ofstream(staging_ + "/.weir-job-k") << "";
  ASSERT_TRUE(Order<rpc::PrepareJob>(request).ok());
  EXPECT_EQ(Read(daemon_->directory() + "/jobs/k/task/words"), "one two three");
  EXPECT_EQ(Read(Cached(file)), "one two three");
  EXPECT_EQ(master_.artifact_offsets.size(), 2u);
}

TEST_F(ArtifactSupplyTest, OneThatComesDamagedTwiceIsRefusedByName) {
  StartRegistered("good");
  const v1::Artifact file = Keep("libjob.so", "sound");
  master_.artifacts[file.sha256()] = "wrong";
  const v1::JobError error = JobErrorFromStatus(PrepareWith({file}));
  EXPECT_EQ(error.code(), job_error::kArtifactDamaged);
  EXPECT_EQ(error.worker(), "w1");
  EXPECT_NE(error.message().find("libjob.so"), std::string::npos) << error.message();
  EXPECT_EQ(master_.artifact_offsets.size(), 2u) << "fetched again once";
  ASSERT_TRUE(Release().ok());
}

TEST_F(ArtifactSupplyTest, OneThatTheMasterLostIsNamed) {
  StartRegistered("good");
  const v1::Artifact file = Keep("libjob.so", "sound");
  master_.artifacts.clear();
  const v1::JobError error = JobErrorFromStatus(PrepareWith({file}));
  EXPECT_EQ(error.code(), job_error::kArtifactMissing);
  EXPECT_EQ(error.worker(), "w1");
  ASSERT_TRUE(Release().ok());
}

TEST_F(ArtifactSupplyTest, AMasterThatIsAwayIsAskedAgain) {
  StartRegistered("good");
  const v1::Artifact file = Keep("words", "one two three");
  master_.artifact_refusals = 2;
  ASSERT_TRUE(PrepareWith({file}).ok());
  EXPECT_EQ(Read(JobFile("task/words")), "one two three");
}

TEST_F(ArtifactSupplyTest, AReleaseEndsTheSupply) {
  StartRegistered("good");
  const v1::Artifact file = Keep("words", "one two three");
  master_.artifact_refusals = 1'000'000;
  std::optional<absl::Status> prepared;
  daemon_->api().Send<rpc::PrepareJob>(
      RequestWith({file}), [&prepared](const auto& answer) { prepared = answer.status(); });
  ASSERT_TRUE(Until([&] { return master_.artifact_refusals < 1'000'000; }));
  ASSERT_TRUE(Release().ok());
  ASSERT_TRUE(prepared.has_value());
  EXPECT_TRUE(absl::IsAborted(*prepared)) << *prepared;
  EXPECT_FALSE(std::filesystem::exists(JobFile("")));
}

TEST_F(ArtifactSupplyTest, PiecesOfOneThatDoesNotComeWholeAreRemoved) {
  StartRegistered("good");
  const v1::Artifact file = Keep("words", std::string(2'500'000, 'w'));
  master_.artifacts[file.sha256()].resize(1 << 20);  // the first piece is all it has
  const v1::JobError error = JobErrorFromStatus(PrepareWith({file}));
  EXPECT_EQ(error.code(), job_error::kArtifactDamaged);
  EXPECT_THAT(NamesInCache(), testing::IsEmpty());
  ASSERT_TRUE(Release().ok());
}

TEST_F(ArtifactSupplyTest, PiecesThatADiskHadNoRoomForAreRemoved) {
  disk_ = &full_;
  StartRegistered("good");
  const v1::Artifact file = Keep("words", std::string(2'500'000, 'w'));
  const v1::JobError error = JobErrorFromStatus(PrepareWith({file}));
  EXPECT_EQ(error.code(), job_error::kDiskFull);
  EXPECT_THAT(NamesInCache(), testing::IsEmpty());
  ASSERT_TRUE(Release().ok());
}

TEST_F(ArtifactSupplyTest, PiecesThatWereThereAtTheReleaseAreRemoved) {
  StartRegistered("good");
  const v1::Artifact file = Keep("words", std::string(2'500'000, 'w'));
  master_.artifact_pieces_max = 1;
  std::optional<absl::Status> prepared;
  daemon_->api().Send<rpc::PrepareJob>(
      RequestWith({file}), [&prepared](const auto& answer) { prepared = answer.status(); });
  ASSERT_TRUE(Until([&] { return NamesInCache() == std::vector{file.sha256() + ".j.part"}; }));
  ASSERT_TRUE(Release().ok());
  ASSERT_TRUE(prepared.has_value());
  EXPECT_TRUE(absl::IsAborted(*prepared)) << *prepared;
  EXPECT_THAT(NamesInCache(), testing::IsEmpty());
}

}  // namespace
}  // namespace weir::worker
