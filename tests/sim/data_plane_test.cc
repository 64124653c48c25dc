// Transfers between simulated workers, and probes.

#include "tests/sim/data_plane.h"

#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/sim/sim_worker_fixture.h"

namespace weir::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SimDataPlaneTest : public SimWorkerTest {
 protected:
  // A piece that is nearly done when a fifth of a second is left, of which a tenth is on the line.
  static v1::TransferGrant Ahead(v1::TransferGrant order) {
    order.set_grant_ahead_bytes(kSecondOfLink / 5);
    order.set_look_ahead_bytes(kSecondOfLink / 10);
    return order;
  }
  static double Seconds(absl::Duration duration) { return absl::ToDoubleSeconds(duration); }
  absl::StatusOr<v1::ProbeResponse> Probe(const std::string& worker, v1::ProbeRequest request) {
    *request.mutable_fence() = FenceOf(worker);
    request.mutable_fence()->set_job_id("c-1");
    request.set_token(5);
    return Order<rpc::Probe>(worker, std::move(request));
  }
  static v1::ProbeRequest ServeOrder() {
    v1::ProbeRequest request;
    request.mutable_serve()->set_bytes_max(limits::kProbeBytesMax);
    request.mutable_serve()->set_seconds(10);
    return request;
  }
  static v1::ProbeRequest FetchOrder() {
    v1::ProbeRequest request;
    v1::ProbeRequest::Fetch& fetch = *request.mutable_fetch();
    fetch.set_source_worker("a");
    fetch.set_source_endpoint("a:7002");
    fetch.set_bytes_max(limits::kProbeBytesMax);
    fetch.set_round_trips(3);
    fetch.set_warm_up_s(0.1);
    fetch.set_window_s(0.5);
    fetch.set_tail_s(0.1);
    return request;
  }
};

TEST_F(SimDataPlaneTest, MovesAtTheRateOfTheSlowerPortAndOfThePacing) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, kSecondOfLink)).ok());
  RunFor(absl::Milliseconds(1010));
  ASSERT_THAT(master_.ends, SizeIs(1));
  EXPECT_NEAR(master_.ends[0].report().run_s(), 1, 1e-6);
  v1::TransferGrant paced = Piece(2, "a", kSecondOfLink, kSecondOfLink);
  paced.set_pacing_bytes_per_s(kSecondOfLink / 2);
  ASSERT_TRUE(Grant("b", paced).ok());
  RunFor(absl::Milliseconds(2010));
  ASSERT_THAT(master_.ends, SizeIs(2));
  ASSERT_TRUE(StartStep("b", Reduce(2, v1::SECTION_PLACE_RECEIVED, 2 * kSecondOfLink)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), IsEmpty());
}

TEST_F(SimDataPlaneTest, ARateThatIsSetHoldsFromThenOn) {
  MakeRun({"a", "b"});
  v1::TransferGrant paced = Piece(1, "a", 0, kSecondOfLink);
  paced.set_pacing_bytes_per_s(kSecondOfLink / 2);
  ASSERT_TRUE(Grant("b", paced).ok());
  RunFor(absl::Seconds(1));
  // A half is left; of that a quarter goes in the next second, the other one in 0.25 s.
  ASSERT_TRUE(SetRate("a", 1, 1, kSecondOfLink / 4).ok());
  RunFor(absl::Seconds(1));
  ASSERT_TRUE(SetRate("a", 1, 3, 2 * kSecondOfLink).ok()) << "it is bound by the port";
  ASSERT_TRUE(SetRate("a", 1, 2, 1000).ok()) << "is older, and does nothing";
  RunFor(absl::Seconds(1));
  ASSERT_THAT(world_.trace().moves, SizeIs(1));
  const MovedBytes& move = world_.trace().moves[0];
  ASSERT_THAT(move.rate_changes, SizeIs(2));
  EXPECT_EQ(move.pacing_bytes_per_s, kSecondOfLink / 2);
  EXPECT_EQ(move.rate_changes[0].bytes_per_s, kSecondOfLink / 4);
  EXPECT_EQ(move.rate_changes[1].bytes_per_s, 2 * kSecondOfLink);
  // What is left at the second change goes at the rate of the port.
  const double at_half = Seconds(move.rate_changes[0].at - move.began);
  const double at_quarter = Seconds(move.rate_changes[1].at - move.rate_changes[0].at);
  EXPECT_NEAR(at_half, 1, 0.01);
  EXPECT_NEAR(at_quarter, 1, 0.01);
  EXPECT_NEAR(Seconds(move.reported - move.rate_changes[1].at), 1 - at_half / 2 - at_quarter / 4,
              1e-6);
  EXPECT_NEAR(Seconds(move.reported - move.began), 2.25, 0.01);
  EXPECT_THAT(world_.wrong(), IsEmpty());
}

TEST_F(SimDataPlaneTest, ARateThatComesBeforeItsRequestCounts) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(SetRate("a", 1, 1, kSecondOfLink / 4).ok());
  v1::TransferGrant paced = Piece(1, "a", 0, kSecondOfLink / 4);
  paced.set_pacing_bytes_per_s(kSecondOfLink / 2);
  ASSERT_TRUE(Grant("b", paced).ok());
  RunFor(absl::Milliseconds(1100));
  ASSERT_THAT(master_.ends, SizeIs(1));
  EXPECT_NEAR(master_.ends[0].report().run_s(), 1, 1e-6);
  EXPECT_EQ(world_.trace().moves[0].pacing_bytes_per_s, kSecondOfLink / 4);
  EXPECT_THAT(world_.trace().moves[0].rate_changes, IsEmpty());
}

TEST_F(SimDataPlaneTest, ARateThatIsSetWhileNothingFlowsHoldsWhenItGoesOn) {
  MakeRun({"a", "b"});
  v1::TransferGrant paced = Piece(1, "a", 0, kSecondOfLink);
  paced.set_pacing_bytes_per_s(kSecondOfLink / 2);
  ASSERT_TRUE(Grant("b", paced).ok());
  RunFor(absl::Seconds(1));
  world_.ChangeCuts("two are parted", [](Cuts& cuts) { cuts.CutBoth("a", "b"); });
  ASSERT_TRUE(SetRate("a", 1, 1, kSecondOfLink).ok());
  RunFor(absl::Seconds(1));
  world_.ChangeCuts("they are joined again", [](Cuts& cuts) { cuts.Heal(); });
  const MonoTime healed = world_.time().now();
  RunFor(absl::Seconds(1));
  ASSERT_THAT(world_.trace().moves, SizeIs(1));
  EXPECT_NEAR(Seconds(world_.trace().moves[0].reported - healed), 0.5, 0.01);
}

TEST_F(SimDataPlaneTest, AJobThatIsReleasedIsForgottenWithItsRates) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Release("a").ok());
  EXPECT_TRUE(absl::IsNotFound(SetRate("a", 1, 1, 1000)));
}

TEST_F(SimDataPlaneTest, AGapIsWrong) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, 1000)).ok());
  RunFor(absl::Seconds(1));
  ASSERT_TRUE(Grant("b", Piece(2, "a", 2000, 1000)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), IsEmpty());
  ASSERT_TRUE(StartStep("b", Reduce(2, v1::SECTION_PLACE_RECEIVED, 3000)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("bytes 1000 to 3000")));
}

TEST_F(SimDataPlaneTest, PiecesThatOverlapAreWrong) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, 1000)).ok());
  RunFor(absl::Seconds(1));
  ASSERT_TRUE(Grant("b", Piece(2, "a", 500, 1000)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("overlap")));
}

TEST_F(SimDataPlaneTest, TwoGrantsAtOnceAreWrongUnlessTheFirstIsNearlyDone) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Ahead(Piece(1, "a", 0, kSecondOfLink))).ok());
  RunFor(absl::Milliseconds(850));
  ASSERT_THAT(master_.nearly_done, SizeIs(1));
  ASSERT_TRUE(Grant("b", Ahead(Piece(2, "a", kSecondOfLink, 1000))).ok());
  EXPECT_THAT(world_.wrong(), IsEmpty());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.trace().moves, SizeIs(2));
  ASSERT_TRUE(Grant("b", Piece(3, "a", kSecondOfLink + 1000, kSecondOfLink / 2)).ok());
  ASSERT_TRUE(Grant("b", Piece(4, "a", 2 * kSecondOfLink - 1000, 1000)).ok());
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("two grants at once for b")));
}

TEST_F(SimDataPlaneTest, ASendWaitsInTheTailOfAnother) {
  MakeRun({"a", "b", "c"});
  ASSERT_TRUE(Grant("b", Ahead(Piece(1, "a", 0, kSecondOfLink))).ok());
  RunFor(absl::Milliseconds(850));
  ASSERT_TRUE(Grant("c", Piece(2, "a", 0, 1000)).ok());
  RunFor(absl::Seconds(1));
  ASSERT_THAT(world_.trace().moves, SizeIs(2));
  const MovedBytes& waited = world_.trace().moves[0];
  const MovedBytes& first = world_.trace().moves[1];
  EXPECT_EQ(waited.receiver, "c") << "it was through while the tail of the first was on the line";
  EXPECT_NEAR(Seconds(first.reported - first.began), 0.8, 1e-6);
  EXPECT_NEAR(Seconds(first.released - first.began), 0.9, 1e-6);
  EXPECT_EQ(waited.began, first.released);
  EXPECT_THAT(world_.wrong(), IsEmpty());
}

TEST_F(SimDataPlaneTest, ASendBeforeTheTailOfAnotherIsWrong) {
  MakeRun({"a", "b", "c"});
  ASSERT_TRUE(Grant("b", Ahead(Piece(1, "a", 0, kSecondOfLink))).ok());
  RunFor(absl::Milliseconds(500));
  ASSERT_TRUE(Grant("c", Piece(2, "a", 0, 1000)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("two sends at once on a")));
  EXPECT_EQ(CodeOfEnd(0), job_error::kTransferFailed);
}

TEST_F(SimDataPlaneTest, OnlyOneMayWaitForATail) {
  MakeRun({"a", "b", "c", "d"});
  ASSERT_TRUE(Grant("b", Ahead(Piece(1, "a", 0, kSecondOfLink))).ok());
  RunFor(absl::Milliseconds(820));
  ASSERT_TRUE(Grant("c", Piece(2, "a", 0, 1000)).ok());
  ASSERT_TRUE(Grant("d", Piece(3, "a", 0, 1000)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("two sends at once on a")));
}

TEST_F(SimDataPlaneTest, ConcurrentOnesRunBesideEachOther) {
  MakeRun({"a", "b", "c"});
  v1::TransferGrant grant = Piece(1, "a", 0, kSecondOfLink);
  grant.set_concurrent(true);
  ASSERT_TRUE(Grant("b", grant).ok());
  ASSERT_TRUE(Grant("c", grant).ok());
  RunFor(absl::Milliseconds(1010));
  EXPECT_THAT(master_.ends, SizeIs(2));
  EXPECT_THAT(world_.wrong(), IsEmpty());
}

TEST_F(SimDataPlaneTest, ASenderThatDiesBreaksTheTransferAtOnce) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, kSecondOfLink)).ok());
  RunFor(absl::Milliseconds(500));
  world_.KillWorker("a");
  RunFor(absl::Milliseconds(10));
  EXPECT_EQ(CodeOfEnd(0), job_error::kWorkerUnreachable);
  ASSERT_TRUE(Grant("b", Piece(2, "a", 0, kSecondOfLink)).ok());
  RunFor(absl::Milliseconds(10));
  EXPECT_EQ(CodeOfEnd(1), job_error::kWorkerUnreachable);
}

TEST_F(SimDataPlaneTest, AReceiverThatDiesFreesTheSender) {
  MakeRun({"a", "b", "c"});
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, kSecondOfLink)).ok());
  RunFor(absl::Milliseconds(500));
  world_.KillWorker("b");
  ASSERT_TRUE(Grant("c", Piece(2, "a", 0, 1000)).ok());
  RunFor(absl::Milliseconds(10));
  EXPECT_EQ(CodeOfEnd(0), "");
  EXPECT_THAT(world_.wrong(), IsEmpty());
}

TEST_F(SimDataPlaneTest, ASenderThatPausesIsWaitedFor) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Ahead(Piece(1, "a", 0, kSecondOfLink))).ok());
  RunFor(absl::Milliseconds(500));
  world_.HangWorker("a", absl::Seconds(3));
  RunFor(absl::Seconds(3));
  EXPECT_THAT(master_.nearly_done, IsEmpty());
  RunFor(absl::Milliseconds(510));
  ASSERT_THAT(master_.ends, SizeIs(1));
  EXPECT_NEAR(master_.ends[0].report().run_s(), 4, 1e-3);
}

TEST_F(SimDataPlaneTest, ASenderThatHangsIsGivenUpWhenItWasSilentForTooLong) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, kSecondOfLink)).ok());
  RunFor(absl::Milliseconds(500));
  world_.HangWorker("a", absl::InfiniteDuration());
  RunFor(limits::kTransferSilence - absl::Milliseconds(10));
  EXPECT_THAT(master_.ends, IsEmpty());
  RunFor(absl::Milliseconds(20));
  EXPECT_EQ(CodeOfEnd(0), job_error::kWorkerUnreachable);
}

TEST_F(SimDataPlaneTest, ARequestToASenderThatHangsIsServedWhenItGoesOn) {
  MakeRun({"a", "b"});
  world_.HangWorker("a", absl::Seconds(2));
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, kSecondOfLink)).ok());
  RunFor(absl::Milliseconds(3010));
  EXPECT_EQ(CodeOfEnd(0), "");
}

TEST_F(SimDataPlaneTest, AReleasedSenderServesNothing) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, kSecondOfLink)).ok());
  ASSERT_TRUE(Release("a").ok());
  RunFor(absl::Milliseconds(10));
  EXPECT_EQ(CodeOfEnd(0), job_error::kWorkerUnreachable);
  ASSERT_TRUE(Grant("b", Piece(2, "a", 0, 1000)).ok());
  RunFor(absl::Milliseconds(10));
  EXPECT_EQ(CodeOfEnd(1), job_error::kTransferFailed);
}

TEST_F(SimDataPlaneTest, AFullDiskFailsTheTransferByName) {
  MakeRun({"a", "b"});
  ASSERT_TRUE(Grant("b", Piece(1, "a", 0, 1000)).ok());
  At("b").faults().disk_full = true;
  RunFor(absl::Seconds(1));
  EXPECT_EQ(CodeOfEnd(0), job_error::kDiskFull);
}

TEST_F(SimDataPlaneTest, ProbesMeasureTheRateOfThePorts) {
  StartWorkers({"a", "b"});
  ASSERT_TRUE(Probe("a", ServeOrder()).ok());
  const auto measured = Probe("b", FetchOrder());
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->bytes(), kSecondOfLink / 2);
  EXPECT_EQ(measured->seconds(), 0.5);
  EXPECT_NEAR(measured->first_byte_s(), 2e-4, 1e-9);
  EXPECT_NEAR(measured->busy_s(), 0.7 + 3 * 2e-4, 1e-6);
  world_.KillWorker("a");
  EXPECT_TRUE(absl::IsFailedPrecondition(Probe("b", FetchOrder()).status()));
  EXPECT_THAT(world_.wrong(), IsEmpty()) << "a sender that is gone is nobody's fault";
}

TEST_F(SimDataPlaneTest, AProbeDuringAJobIsWrong) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Probe("a", ServeOrder()).status()));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("had to refuse Probe")));
}

}  // namespace
}  // namespace weir::sim
