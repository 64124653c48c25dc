// Plans that are too long for one message, over a real loopback connection, and their pieces.

#include "runtime/rpc/plan_pieces.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/limits.h"
#include "tests/unit/rpc/grpc_fixture.h"

namespace weir::rpc {
namespace {

constexpr int kTransfers = 1000;

// A row of the transfers between a thousand mappers and a thousand reducers, each on a worker of
// its own, with numbers as long as most of them are.
v1::GetPlanResponse ThousandTransfers(bool ran) {
  v1::GetPlanResponse answer;
  v1::Plan& plan = *answer.mutable_plan();
  v1::IndexList& sends = *plan.add_send_order();
  v1::IndexList& receives = *plan.add_receive_order();
  for (int i = 0; i < kTransfers; ++i) {
    v1::Transfer& transfer = *plan.add_transfers();
    transfer.set_producer(500);
    transfer.set_consumer(1000 + i);
    transfer.set_sender(500);
    transfer.set_receiver(i);
    transfer.set_offset(1'000'000LL * i);
    transfer.set_bytes(1'000'000);
    transfer.set_start_s(0.1 * (i + 1));
    transfer.set_duration_s(0.1);
    v1::Section& section = *plan.add_sections();
    section.set_producer(500);
    section.set_consumer(1000 + i);
    section.set_bytes(1'000'000);
    sends.add_index(500'000 + i);
    receives.add_index(500'000 + i);
    if (!ran) continue;
    v1::ActualInterval& interval = *answer.mutable_actual()->add_transfers();
    interval.set_start_s(0.1 * (i + 1));
    interval.set_finish_s(0.1 * (i + 2));
    interval.set_bytes(1'000'000);
  }
  return answer;
}

TEST(PlanPiecesTest, AThousandByAThousandTransfersFitOneMessageOnlyBeforeTheyHaveRun) {
  const std::size_t most = limits::kMessageBytesMax;
  EXPECT_LT(kTransfers * ThousandTransfers(/*ran=*/false).ByteSizeLong(), most);
  EXPECT_GT(kTransfers * ThousandTransfers(/*ran=*/true).ByteSizeLong(), most * 6 / 5);
}

absl::StatusOr<v1::GetPlanResponse> Joined(const std::vector<v1::PlanPiece>& pieces) {
  PlanPieces joined;
  for (const v1::PlanPiece& piece : pieces) joined.Add(piece);
  return joined.Whole();
}

TEST(PlanPiecesTest, MakeTheWholeWhateverTheirSize) {
  const v1::GetPlanResponse answer = ThousandTransfers(/*ran=*/true);
  const std::size_t bytes = answer.ByteSizeLong();
  for (const std::size_t piece_bytes : {bytes / 100, bytes / 2, bytes - 1, bytes, bytes + 1}) {
    SCOPED_TRACE(piece_bytes);
    const auto pieces = CutPlan(answer, piece_bytes);
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    EXPECT_EQ(pieces->size(), (bytes + piece_bytes - 1) / piece_bytes);
    const auto joined = Joined(*pieces);
    ASSERT_TRUE(joined.ok()) << joined.status();
    EXPECT_TRUE(joined->SerializeAsString() == answer.SerializeAsString());
  }
  const auto empty = CutPlan(v1::GetPlanResponse());
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_TRUE(Joined(*empty).ok()) << "one piece without bytes";
}

TEST(PlanPiecesTest, AreNoPlanWhereSomeAreMissingOrOfAnother) {
  const v1::GetPlanResponse answer = ThousandTransfers(/*ran=*/true);
  const auto pieces = CutPlan(answer, answer.ByteSizeLong() / 3);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  ASSERT_GE(pieces->size(), 3u);
  EXPECT_TRUE(absl::IsDataLoss(Joined({}).status()));
  for (std::size_t missing = 0; missing < pieces->size(); ++missing) {
    std::vector<v1::PlanPiece> rest = *pieces;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_TRUE(absl::IsDataLoss(Joined(rest).status())) << missing;
  }
  std::vector<v1::PlanPiece> more = *pieces;
  more.push_back(pieces->front());
  EXPECT_TRUE(absl::IsDataLoss(Joined(more).status())) << "beyond the end";
  std::vector<v1::PlanPiece> mixed = *pieces;
  mixed.back().set_bytes(mixed.back().bytes() - 1);
  EXPECT_TRUE(absl::IsDataLoss(Joined(mixed).status())) << "of another plan";
}

class PlanOverGrpcTest : public GrpcTest {};

TEST_F(PlanOverGrpcTest, OneBeyondTheLongestMessageArrivesInPieces) {
  const std::size_t note_bytes = std::size_t{limits::kMessageBytesMax} + 1;
  OnServer([&] {
    jobs_.plan = ThousandTransfers(/*ran=*/true);
    jobs_.plan.mutable_plan()->add_notes(std::string(note_bytes, 'x'));
  });
  auto client = clients_->ConnectJobs(endpoint_);
  std::optional<absl::StatusOr<v1::GetPlanResponse>> in_one;
  loop_.Post([&] { client->Send<GetPlan>({}, kPatience, Into(in_one)); });
  loop_.RunUntil([&] { return in_one.has_value(); });
  EXPECT_TRUE(absl::IsResourceExhausted(in_one->status())) << in_one->status();

  PlanPieces pieces;
  int num_pieces = 0;
  std::optional<absl::Status> end;
  std::unique_ptr<Subscription> subscription;
  loop_.Post([&] {
    subscription = client->Subscribe<GetPlanPieces>(
        {},
        [&](const v1::PlanPiece& piece) {
          ++num_pieces;
          pieces.Add(piece);
        },
        [&](absl::Status status) { end = std::move(status); });
  });
  loop_.RunUntil([&] { return end.has_value(); });
  ASSERT_TRUE(end->ok()) << *end;
  EXPECT_EQ(num_pieces, 3);
  const auto whole = pieces.Whole();
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->plan().transfers_size(), kTransfers);
  EXPECT_EQ(whole->actual().transfers_size(), kTransfers);
  ASSERT_EQ(whole->plan().notes_size(), 1);
  EXPECT_EQ(whole->plan().notes(0).size(), note_bytes);
}

}  // namespace
}  // namespace weir::rpc
