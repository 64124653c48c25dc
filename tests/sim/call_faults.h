#pragma once

// What may happen to a call of any method of any service, and proof that it did. Upstream:
// scenarios, every_call_test. Downstream: Network, which carries calls.

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "tests/sim/virtual_time.h"

namespace weir::sim {

/// What a caller cannot tell apart: in each case it has no answer, or one too many was given.
enum class CallFault {
  kNone,
  kRequestLost,
  kAnswerLost,
  kErrorOfDone,  // it runs, and its caller is told that it could not be reached
  kTwice,
  kLate,     // delivered when its caller has long given up, and what it is about may be over
  kUnknown,  // the process that is called is of a version before there was such a call
};
/// Those that may befall any call.
inline constexpr std::array kCallFaults = {CallFault::kRequestLost, CallFault::kAnswerLost,
                                           CallFault::kErrorOfDone, CallFault::kTwice,
                                           CallFault::kLate};

const char* NameOf(CallFault fault);

/// Draws the faults of calls, by method, and counts those that struck.
///
/// Methods are called as in services.proto: "weir.v1.JobService.Submit".
/// Thread-safety: none. Same seed, same faults; draws nothing while no fault is set.
/// Checked by: tests/sim/every_call_test.cc.
class CallFaults {
 public:
  /// Each call of one method has this fault with probability `share`, the first one for certain.
  void Set(const std::string& method, CallFault fault, double share);
  /// Each call of every method has this fault with probability `share`.
  void SetForAll(CallFault fault, double share) { shares_of_all_[fault] = share; }
  void Clear();

  /// Counts a call and says what happens to it.
  CallFault Draw(const std::string& method, SeededRandom& random);
  /// A fault has had its effect.
  void Strike(const std::string& method, CallFault fault);

  /// Calls of a method so far.
  std::int64_t called(const std::string& method) const;
  std::int64_t struck(const std::string& method, CallFault fault) const;
  /// Of all methods.
  std::int64_t struck() const;

 private:
  using Shares = std::map<CallFault, double>;
  static CallFault DrawOf(const Shares& shares, SeededRandom& random);

  std::map<std::string, Shares> shares_;
  Shares shares_of_all_;
  std::map<std::string, std::int64_t> called_;
  std::map<std::string, std::map<CallFault, std::int64_t>> struck_;
};

}  // namespace weir::sim
