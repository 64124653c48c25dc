#pragma once

// Built-in operations, and what they cost here. Upstream: reduce.h. Downstream: member_call.

#include <cstddef>
#include <vector>

#include "runtime/reduce/reduce.h"

namespace weir::reduce {

/// Returns the operations that have names of their own in messages.
std::vector<Operation> BuiltInOperations();

/// Returns the size of one element.
std::size_t ElementBytes(DataType type);

/// Returns "float", "double" or "int64".
const char* TypeName(DataType type);

/// Returns the seconds that a sum takes on this machine per byte of its result, memory included:
/// the best of some tries, together a millisecond or two. `now_s` tells the time.
double MeasureSum(const std::function<double()>& now_s);

}  // namespace weir::reduce
