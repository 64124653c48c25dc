#include "planner/order/coalesce.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

namespace weir::planner {
namespace {

struct Listed {
  Transfer transfer;
  std::size_t place = 0;  // in the plan's list
};

bool GoesOn(const Transfer& before, const Transfer& next) {
  return before.producer == next.producer && before.consumer == next.consumer &&
         before.offset + before.bytes == next.offset;
}

}  // namespace

void CoalescePieces(Seconds shortest_s, Plan* plan) {
  const auto too_short = [&](const Transfer& t) {
    return static_cast<double>(t.bytes) * plan->network.SecondsPerByte(t.sender, t.receiver) <
           shortest_s;
  };
  std::vector<Listed> pieces;
  for (std::size_t i = 0; i < plan->transfers.size(); ++i) {
    pieces.push_back({plan->transfers[i], i});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Listed& a, const Listed& b) {
    const Transfer &x = a.transfer, &y = b.transfer;
    return std::tie(x.producer, x.consumer, x.offset, a.place) <
           std::tie(y.producer, y.consumer, y.offset, b.place);
  });
  // Each piece and those behind it, to the end of its section.
  std::vector<Transfer> rest;
  for (const Listed& piece : pieces) rest.push_back(piece.transfer);
  for (std::size_t i = rest.size(); i-- > 1;) {
    if (GoesOn(pieces[i - 1].transfer, pieces[i].transfer)) rest[i - 1].bytes += rest[i].bytes;
  }
  std::vector<Listed> joined;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Transfer& piece = pieces[i].transfer;
    const bool goes_on = !joined.empty() && GoesOn(joined.back().transfer, piece);
    if (goes_on && (too_short(joined.back().transfer) || too_short(rest[i]))) {
      joined.back().transfer.bytes += piece.bytes;
    } else {
      joined.push_back(pieces[i]);
    }
  }
  // As listed: lists are rotations already.
  std::sort(joined.begin(), joined.end(),
            [](const Listed& a, const Listed& b) { return a.place < b.place; });
  plan->transfers.clear();
  for (ComputeStep& step : plan->steps) step.after_transfers.clear();
  for (const Listed& each : joined) {
    plan->steps[static_cast<std::size_t>(each.transfer.consumer)].after_transfers.push_back(
        static_cast<TransferIndex>(plan->transfers.size()));
    plan->transfers.push_back(each.transfer);
  }
}

}  // namespace weir::planner
