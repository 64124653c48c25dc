// Grants, and what becomes of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/worker/worker_daemon_fixture.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;

class WorkerDaemonTransfersTest : public WorkerDaemonTest {};

TEST_F(WorkerDaemonTransfersTest, FetchesPiecesOfOneSectionIntoOneFile) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  EXPECT_TRUE(Grant(Piece(1, 1000, 200)).ok()) << "twice is no error";
  ASSERT_TRUE(Grant(Piece(2, 1200, 300)).ok());
  ASSERT_EQ(fetcher_.started.size(), 1u) << "one receive at a time";
  EXPECT_EQ(fetcher_.started[0].order.peer_name, "w2");
  EXPECT_EQ(fetcher_.started[0].order.key.token, 99u);
  EXPECT_EQ(fetcher_.started[0].order.destination_path, JobFile("received/8.1.1000"));
  EXPECT_EQ(fetcher_.started[0].order.destination_offset, 0);

  fetcher_.started[0].nearly_done(48);
  ASSERT_EQ(master_.transfer_reports.size(), 1u);
  EXPECT_EQ(master_.transfer_reports[0].report().bytes_left(), 48);
  EXPECT_EQ(fetcher_.started.size(), 1u) << "the line is not free yet";
  fetcher_.started[0].nearly_done(16);
  ASSERT_EQ(fetcher_.started.size(), 2u) << "the next may begin";
  EXPECT_EQ(fetcher_.started[1].order.destination_path, JobFile("received/8.1.1000"));
  EXPECT_EQ(fetcher_.started[1].order.destination_offset, 200);
  std::exchange(fetcher_.started[0].done, nullptr)(transfer::FetchResult{200, 0.5});
  std::exchange(fetcher_.started[1].done, nullptr)(transfer::FetchResult{300, 0.5});

  ASSERT_EQ(master_.transfer_reports.size(), 3u);
  EXPECT_TRUE(master_.transfer_reports[0].report().nearly_done());
  EXPECT_TRUE(master_.transfer_reports[1].report().done());
  EXPECT_EQ(master_.transfer_reports[1].report().bytes(), 200);
  EXPECT_EQ(master_.transfer_reports[2].report().transfer(), 2);
}

TEST_F(WorkerDaemonTransfersTest, FetchesSayOfWhichAttemptTheyAre) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  v1::GrantTransferRequest second;
  *second.mutable_fence() = FenceNow(/*attempt=*/2);
  *second.mutable_order() = Piece(7, 1000, 200);
  ASSERT_TRUE(Order<rpc::GrantTransfer>(second).ok());
  ASSERT_EQ(fetcher_.started.size(), 1u);
  EXPECT_EQ(fetcher_.started[0].order.transfer, 7);
  EXPECT_EQ(fetcher_.started[0].order.attempt, 2);
}

TEST_F(WorkerDaemonTransfersTest, RatesAreSetBeforeTheyAreAnswered) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  v1::SetRatesRequest request;
  *request.mutable_fence() = FenceNow(/*attempt=*/0);
  for (int transfer : {3, 4}) {
    v1::TransferRate& rate = *request.add_rates();
    rate.set_transfer(transfer);
    rate.set_attempt(2);
    rate.set_number(5);
    rate.set_bytes_per_s(1000 * transfer);
  }
  std::optional<absl::Status> answer;
  daemon_->api().Send<rpc::SetRates>(request, [&](const auto& a) { answer = a.status(); });
  ASSERT_TRUE(Until([this] { return !server_.sets.empty(); }));
  ASSERT_EQ(server_.set_rates.size(), 2u);
  const auto& [job_id, rate] = server_.set_rates[1];
  EXPECT_EQ(job_id, "j");
  EXPECT_EQ(rate.transfer, 4);
  EXPECT_EQ(rate.attempt, 2);
  EXPECT_EQ(rate.number, 5);
  EXPECT_EQ(rate.bytes_per_s, 4000);
  EXPECT_FALSE(answer) << "no socket has it yet";
  server_.sets[0]();
  ASSERT_TRUE(Until([&] { return answer.has_value(); }));
  EXPECT_TRUE(answer->ok()) << *answer;
}

TEST_F(WorkerDaemonTransfersTest, RatesOfNoJobThatIsHereAreRefused) {
  StartRegistered("good");
  v1::SetRatesRequest request;
  *request.mutable_fence() = FenceNow();
  EXPECT_TRUE(absl::IsNotFound(Order<rpc::SetRates>(request).status()));
  ASSERT_TRUE(Prepare().ok());
  request.mutable_fence()->set_plan_epoch(plan_epoch_ - 1);
  EXPECT_TRUE(absl::IsAborted(Order<rpc::SetRates>(request).status()));
  *request.mutable_fence() = FenceNow();
  request.add_rates()->set_attempt(1);
  EXPECT_TRUE(absl::IsInvalidArgument(Order<rpc::SetRates>(request).status()));
  EXPECT_TRUE(server_.sets.empty());
}

TEST_F(WorkerDaemonTransfersTest, FailedTransfersNameBothEndsAndWhatToDo) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  const std::pair<absl::Status, std::string_view> failures[] = {
      {absl::UnavailableError("connection refused"), job_error::kWorkerUnreachable},
      {absl::DeadlineExceededError("no byte for 6 s"), job_error::kWorkerUnreachable},
      {absl::DataLossError("checksum"), job_error::kDataLoss},
      {absl::NotFoundError("no such run"), job_error::kTransferFailed},
      {ErrnoStatus(ENOSPC, "write received/8.1.1000"), job_error::kDiskFull}};
  int transfer = 0;
  for (const auto& [status, code] : failures) {
    ASSERT_TRUE(Grant(Piece(++transfer, 1000, 200)).ok());
    std::exchange(fetcher_.started.back().done, nullptr)(status);
    ASSERT_TRUE(Until([&] { return std::ssize(master_.transfer_reports) == transfer; }));
    const v1::JobError& error = master_.transfer_reports.back().report().error();
    EXPECT_EQ(error.code(), code);
    EXPECT_FALSE(error.advice().empty());
    if (code == job_error::kDiskFull) {
      EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER);
      EXPECT_EQ(error.worker(), "w1");
      EXPECT_THAT(error.advice(), HasSubstr(work_dir_.path()));
    } else {
      EXPECT_THAT(error.message(), testing::AllOf(HasSubstr("w1"), HasSubstr("w2")));
    }
    if (code == job_error::kWorkerUnreachable) {
      EXPECT_EQ(error.worker(), "w2");
      EXPECT_THAT(error.advice(), HasSubstr("10.0.0.2:7200"));
    }
  }
}

TEST_F(WorkerDaemonTransfersTest, AFailedTransferSaysHowMuchOfItArrived) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  std::exchange(fetcher_.started.back().done, nullptr)(
      transfer::WithBytesBefore(absl::DeadlineExceededError("no byte for 6 s"), 120));
  ASSERT_TRUE(Until([&] { return !master_.transfer_reports.empty(); }));
  EXPECT_TRUE(master_.transfer_reports[0].report().has_error());
  EXPECT_EQ(master_.transfer_reports[0].report().bytes(), 120);
}

TEST_F(WorkerDaemonTransfersTest, ABrokenDiskIsTheFaultOfWhoseItIs) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  const auto fail = [this](int transfer, const absl::Status& status) {
    EXPECT_TRUE(Grant(Piece(transfer, 1000, 200)).ok());
    std::exchange(fetcher_.started.back().done, nullptr)(status);
    EXPECT_TRUE(Until([&] { return std::ssize(master_.transfer_reports) == transfer; }));
    return master_.transfer_reports.back().report().error();
  };
  const v1::JobError here = fail(1, ErrnoStatus(EIO, "cannot write received/8.1.1000"));
  EXPECT_EQ(here.fault_of(), v1::FAULT_OF_WORKER);
  EXPECT_EQ(here.worker(), "w1");
  const v1::JobError there =
      fail(2, transfer::SaidBySender(absl::DataLossError("cannot read run 8.1")));
  EXPECT_EQ(there.code(), job_error::kDataLoss);
  EXPECT_EQ(there.fault_of(), v1::FAULT_OF_WORKER);
  EXPECT_EQ(there.worker(), "w2");
  const v1::JobError between = fail(3, absl::DataLossError("checksum"));
  EXPECT_EQ(between.code(), job_error::kDataLoss);
  EXPECT_EQ(between.fault_of(), v1::FAULT_OF_EXCHANGE);
}

TEST_F(WorkerDaemonTransfersTest, ATransferThatFailsForItsLostFilesSaysSo) {
  master_.heartbeat_ms = 5000;
  master_.lease_ms = 60'000;
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  std::filesystem::remove_all(daemon_->directory() + "/jobs/j");
  std::exchange(fetcher_.started.back().done, nullptr)(absl::NotFoundError("no such directory"));
  ASSERT_TRUE(Until([&] { return !master_.transfer_reports.empty(); }));
  EXPECT_EQ(master_.transfer_reports[0].report().error().code(), job_error::kWorkDirectoryLost);
}

TEST_F(WorkerDaemonTransfersTest, ACancelledOneEndsAndIsNotReported) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  for (int transfer : {1, 2, 3}) ASSERT_TRUE(Grant(Piece(transfer, 1000, 200)).ok());
  EXPECT_TRUE(Cancel(2).ok()) << "it waited";
  EXPECT_TRUE(Cancel(1).ok());
  EXPECT_TRUE(Cancel(1).ok()) << "twice is no error";
  EXPECT_TRUE(Cancel(4).ok()) << "before its grant";
  EXPECT_TRUE(Grant(Piece(4, 1000, 200)).ok()) << "which is too late";
  ASSERT_EQ(fetcher_.started.size(), 2u);
  EXPECT_EQ(fetcher_.started[1].order.transfer, 3);
  EXPECT_THAT(master_.transfer_reports, testing::IsEmpty());
  std::exchange(fetcher_.started[1].done, nullptr)(transfer::FetchResult{200, 0.5});
  ASSERT_EQ(master_.transfer_reports.size(), 1u);
  EXPECT_EQ(master_.transfer_reports[0].report().transfer(), 3);
  EXPECT_TRUE(Release().ok());
}

// Its report may not have been heard: who moved it again would do so for nothing.
TEST_F(WorkerDaemonTransfersTest, OneThatHasArrivedIsNotCancelled) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  std::exchange(fetcher_.started[0].done, nullptr)(transfer::FetchResult{200, 0.5});
  EXPECT_EQ(Cancel(1).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_EQ(master_.transfer_reports.size(), 1u);
  EXPECT_EQ(master_.transfer_reports[0].report().transfer(), 1);
  EXPECT_TRUE(Release().ok());
}

TEST_F(WorkerDaemonTransfersTest, HandsRunsOverByLink) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  const std::string source = output_.path() + "/runs";
  std::filesystem::create_directory(source);
  std::ofstream(source + "/8.1.run") << "bytes";
  v1::TransferGrant order = Piece(1, 1000, 200);
  order.set_handover(true);
  order.set_source_run_path(source + "/8.1.run");
  ASSERT_TRUE(Grant(order).ok());
  ASSERT_TRUE(Until([&] { return !master_.transfer_reports.empty(); }));
  EXPECT_FALSE(master_.transfer_reports[0].report().has_error());
  EXPECT_TRUE(std::filesystem::equivalent(source + "/8.1.run", JobFile("received/8.1.run")));

  order.set_transfer(2);
  order.set_source_run_path("/etc/passwd");
  EXPECT_TRUE(absl::IsInvalidArgument(Grant(order)));
}

}  // namespace
}  // namespace weir::worker
