#include "runtime/rpc/plan_pieces.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir::rpc {
namespace {

// Protobuf writes and reads only what is shorter.
constexpr std::size_t kAnswerBytesEnd = std::size_t{1} << 31;

}  // namespace

absl::StatusOr<std::vector<v1::PlanPiece>> CutPlan(const v1::GetPlanResponse& answer,
                                                   std::size_t piece_bytes) {
  const std::size_t bytes = answer.ByteSizeLong();
  if (bytes >= kAnswerBytesEnd) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the plan takes ", bytes, " bytes to say; the most is ", kAnswerBytesEnd - 1));
  }
  const std::string text = answer.SerializeAsString();
  std::vector<v1::PlanPiece> pieces;
  std::size_t begin = 0;
  do {
    v1::PlanPiece& piece = pieces.emplace_back();
    piece.set_bytes(static_cast<std::int64_t>(text.size()));
    piece.set_data(text.substr(begin, piece_bytes));
    begin += piece_bytes;
  } while (begin < text.size());
  return pieces;
}

void PlanPieces::Add(const v1::PlanPiece& piece) {
  if (!begun_) bytes_ = piece.bytes();
  begun_ = true;
  const auto left = bytes_ - static_cast<std::int64_t>(text_.size());
  fit_ = fit_ && piece.bytes() == bytes_ && static_cast<std::int64_t>(piece.data().size()) <= left;
  if (fit_) text_ += piece.data();
}

absl::StatusOr<v1::GetPlanResponse> PlanPieces::Whole() const {
  if (!begun_ || !fit_ || static_cast<std::int64_t>(text_.size()) != bytes_) {
    return absl::DataLossError(absl::StrCat("of the plan's ", bytes_, " bytes ", text_.size(),
                                            " arrived that belong together; ask again"));
  }
  v1::GetPlanResponse answer;
  if (!answer.ParseFromString(text_)) {
    return absl::DataLossError("what arrived is not a plan; ask again");
  }
  return answer;
}

}  // namespace weir::rpc
