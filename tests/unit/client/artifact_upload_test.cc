#include "runtime/client/ship/artifact_upload.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "runtime/base/job_errors.h"
#include "runtime/client/ship/shipped_files.h"
#include "tests/unit/client/command_host_test_base.h"
#include "tests/unit/client/scripted_master.h"

namespace weir::client {
namespace {

// Keeps what it is sent.
struct KeepingMaster {
  void Handle(rpc::Call<rpc::PutArtifact> call) {
    requests.push_back(call.request);
    if (requests.size() == lost_request) {
      // It died, and the next one has nothing of what was on its way.
      held.clear();
      return call.reply(absl::UnavailableError("socket closed"));
    }
    if (!refusal.ok()) return call.reply(refusal);
    if (call.request.offset() == static_cast<std::int64_t>(held.size())) {
      held += call.request.data();
    }
    v1::PutArtifactResponse response;
    response.set_bytes_held(static_cast<std::int64_t>(held.size()));
    call.reply(std::move(response));
  }
  template <typename Method>
  requires(Method::kStreams) std::unique_ptr<rpc::Subscription> Handle(rpc::Call<Method>) {
    return nullptr;
  }
  template <typename Method>
  void Handle(rpc::Call<Method> call) {
    call.reply(absl::UnimplementedError(Method::kName));
  }
  std::string held;
  absl::Status refusal;
  std::size_t lost_request = 0;  // counted from 1
  std::vector<v1::PutArtifactRequest> requests;
  const rpc::JobApi api = rpc::ApiOf<rpc::JobService>(*this);
};

class KeepingSession final : public Session {
 public:
  KeepingSession(env::AsioEventLoop& loop, KeepingMaster& master) : loop_(loop), master_(master) {}
  const rpc::JobApi& jobs() override { return master_.api; }
  env::EventLoop& loop() override { return loop_; }
  void RunUntil(const std::function<bool()>& done) override { loop_.RunUntil(done); }
  void OnInterrupt(std::function<void()>) override {}
  void EndWithStdin() override {}
  std::string master_name() const override { return "keeping:1"; }

 private:
  env::AsioEventLoop& loop_;
  KeepingMaster& master_;
};

class ArtifactUploadTest : public CommandHostTest {
 protected:
  absl::Status Send(const LocalArtifact& file) {
    MasterAbsence absence(grace_, /*reached=*/true, absl::ZeroDuration(), random_);
    return SendArtifacts({&file, 1}, session_, absence, host_, spec_);
  }
  env::AsioEventLoop loop_;
  KeepingMaster master_;
  KeepingSession session_{loop_, master_};
  v1::JobSpec spec_;
  MasterGrace grace_;
};

TEST_F(ArtifactUploadTest, SendsWhatIsMissingPieceByPiece) {
  std::string bytes(2'500'000, 'a');
  bytes += "the end";
  Put("file", bytes);
  master_.held = bytes.substr(0, 1'000'000);  // of a client that went away
  ASSERT_TRUE(Send({dir_ + "/file", "name", true}).ok());
  EXPECT_EQ(master_.held, bytes);
  EXPECT_EQ(master_.requests.front().data(), "") << "it asks first";
  EXPECT_EQ(master_.requests.size(), 3u);
  ASSERT_EQ(spec_.artifacts_size(), 1);
  EXPECT_EQ(spec_.artifacts(0).name(), "name");
  EXPECT_EQ(spec_.artifacts(0).bytes(), 2'500'007);
  EXPECT_EQ(spec_.artifacts(0).sha256(), master_.requests.front().sha256());
  EXPECT_TRUE(spec_.artifacts(0).executable());
}

TEST_F(ArtifactUploadTest, SendsNothingThatIsThere) {
  Put("file", "abc");
  master_.held = "abc";
  ASSERT_TRUE(Send({dir_ + "/file", "name"}).ok());
  EXPECT_EQ(master_.requests.size(), 1u);
}

TEST_F(ArtifactUploadTest, GoesOnWithTheMasterThatFollowsOneThatDied) {
  const std::string bytes = std::string(2'500'000, 'a') + "the end";
  Put("file", bytes);
  const auto forget = [this](std::size_t lost) {
    master_.held.clear();
    master_.requests.clear();
    master_.lost_request = lost;
  };
  for (const std::size_t lost : {1, 2, 3, 4}) {
    forget(lost);
    ASSERT_TRUE(Send({dir_ + "/file", "name"}).ok()) << lost;
    EXPECT_EQ(master_.held, bytes) << lost;
  }
  grace_ = {absl::ZeroDuration(), /*given=*/true};
  forget(2);
  EXPECT_TRUE(absl::IsUnavailable(Send({dir_ + "/file", "name"})));
}

TEST_F(ArtifactUploadTest, NamesWhatCannotBeSent) {
  EXPECT_TRUE(absl::IsNotFound(Send({dir_ + "/none", "name"})));
  EXPECT_EQ(JobErrorFromStatus(Send({dir_, "name"})).code(), job_error::kInvalidJob);
  Put("file", "abc");
  master_.refusal = absl::ResourceExhaustedError("full");
  EXPECT_TRUE(absl::IsResourceExhausted(Send({dir_ + "/file", "name"})));
  EXPECT_EQ(spec_.artifacts_size(), 0);
}

TEST_F(ArtifactUploadTest, ADirectoryIsRefusedWithTheCommandThatPacksIt) {
  std::filesystem::create_directory(dir_ + "/my data");
  JobOptions job;
  job.files = {{.path = "my data", .name = "my data"}};
  const std::string advice = JobErrorFromStatus(CheckShippedFiles(job, host_)).advice();
  EXPECT_NE(advice.find("tar -czf 'my data.tar.gz' -C 'my data' . and 'my data.tar.gz#my data'"),
            std::string::npos)
      << advice;
}

}  // namespace
}  // namespace weir::client
