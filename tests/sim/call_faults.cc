#include "tests/sim/call_faults.h"

namespace weir::sim {

const char* NameOf(CallFault fault) {
  switch (fault) {
    case CallFault::kNone:
      return "no fault";
    case CallFault::kRequestLost:
      return "request lost";
    case CallFault::kAnswerLost:
      return "answer lost";
    case CallFault::kErrorOfDone:
      return "done, and answered with an error";
    case CallFault::kTwice:
      return "delivered twice";
    case CallFault::kLate:
      return "delivered late";
    case CallFault::kUnknown:
      return "not known to whom it calls";
  }
  return "unknown";
}

void CallFaults::Set(const std::string& method, CallFault fault, double share) {
  shares_[method][fault] = share;
}

void CallFaults::Clear() {
  shares_.clear();
  shares_of_all_.clear();
}

CallFault CallFaults::DrawOf(const Shares& shares, SeededRandom& random) {
  if (shares.empty()) return CallFault::kNone;
  double at = random.Share();
  for (const auto& [fault, share] : shares) {
    if (at < share) return fault;
    at -= share;
  }
  return CallFault::kNone;
}

CallFault CallFaults::Draw(const std::string& method, SeededRandom& random) {
  const bool first = ++called_[method] == 1;
  const auto own = shares_.find(method);
  if (own == shares_.end()) return DrawOf(shares_of_all_, random);
  return first ? own->second.begin()->first : DrawOf(own->second, random);
}

void CallFaults::Strike(const std::string& method, CallFault fault) { ++struck_[method][fault]; }

std::int64_t CallFaults::called(const std::string& method) const {
  const auto found = called_.find(method);
  return found == called_.end() ? 0 : found->second;
}

std::int64_t CallFaults::struck(const std::string& method, CallFault fault) const {
  const auto faults = struck_.find(method);
  if (faults == struck_.end()) return 0;
  const auto found = faults->second.find(fault);
  return found == faults->second.end() ? 0 : found->second;
}

std::int64_t CallFaults::struck() const {
  std::int64_t all = 0;
  for (const auto& [method, faults] : struck_) {
    for (const auto& [fault, count] : faults) all += count;
  }
  return all;
}

}  // namespace weir::sim
