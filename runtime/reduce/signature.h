#pragma once

// What a member called, in a form that goes with every message. Pure.
// Upstream: Group::Call. Downstream: frames, errors that name two members' calls.

#include <cstdint>
#include <string>

#include "runtime/reduce/reduce.h"

namespace weir::reduce {

enum class CallKind : std::uint8_t { kReduce = 1, kAllReduce = 2, kBroadcast = 3 };

/// Equal of all members in one call, else they get an error.
struct Signature {
  CallKind kind = CallKind::kReduce;
  DataType type = DataType::kDouble;
  std::int32_t root = 0;
  std::uint64_t count = 0;
  /// Of the operation's name and traits.
  std::uint32_t operation = 0;
  /// Of the schedule that the member computed: the same everywhere, unless versions or processors
  /// compute differently.
  std::uint32_t schedule = 0;

  friend bool operator==(const Signature&, const Signature&) = default;
  friend auto operator<=>(const Signature&, const Signature&) = default;
};

/// Returns the number that stands for an operation.
std::uint32_t OperationNumber(const Operation& operation);

/// Returns for example "AllReduce of 1000 double by sum".
std::string Describe(const Signature& signature);

}  // namespace weir::reduce
