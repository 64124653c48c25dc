// What the built-in operations do with two arrays, and what calls name them.

#include "runtime/reduce/operations.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "runtime/reduce/signature.h"
#include "tests/unit/reduce/members_in_process.h"

namespace weir::reduce {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// The result takes the place of the left operand, as it may.
Ints Folded(const Operation& operation, Ints left, const Ints& right) {
  operation.FoldOf(DataType::kInt64)(left.data(), right.data(), left.data(), left.size());
  return left;
}

TEST(OperationsTest, BitsAreCombinedOneByOne) {
  const Ints left = {0b1100, -1, 0, kLeast};
  const Ints right = {0b1010, 5, -1, kMost};
  EXPECT_EQ(Folded(Operation::BitAnd(), left, right), (Ints{0b1000, 5, 0, 0}));
  EXPECT_EQ(Folded(Operation::BitOr(), left, right), (Ints{0b1110, -1, -1, -1}));
  EXPECT_EQ(Folded(Operation::BitXor(), left, right), (Ints{0b0110, -6, -1, -1}));
}

TEST(OperationsTest, BitsAreOfIntegersAlone) {
  for (const Operation& operation :
       {Operation::BitAnd(), Operation::BitOr(), Operation::BitXor()}) {
    EXPECT_TRUE(operation.FoldOf(DataType::kInt64));
    EXPECT_FALSE(operation.FoldOf(DataType::kFloat)) << operation.name();
    EXPECT_FALSE(operation.FoldOf(DataType::kDouble)) << operation.name();
  }
}

TEST(OperationsTest, CallsNameEachOfThem) {
  for (const Operation& operation : BuiltInOperations()) {
    const Signature call = {.kind = CallKind::kAllReduce,
                            .type = DataType::kInt64,
                            .root = 0,
                            .count = 3,
                            .operation = OperationNumber(operation),
                            .schedule = 0};
    EXPECT_EQ(Describe(call), "AllReduce of 3 int64 by " + operation.name());
  }
}

// Each member has a filter with bits of its own and one that all have.
TEST(OperationsTest, MembersJoinTheirBloomFilters) {
  constexpr std::size_t kWords = 1000;
  const auto filter_of = [](int rank) {
    Ints filter(kWords);
    for (std::size_t i = 0; i < kWords; ++i) filter[i] = std::int64_t{1} << (10 + rank) | 1;
    return filter;
  };
  const auto results = RunMembers(5, [&filter_of](Group& group) -> absl::Status {
    Ints any = filter_of(group.rank());
    absl::Status done = group.AllReduce(std::span(any), Operation::BitOr());
    if (!done.ok()) return done;
    Ints all = filter_of(group.rank());
    done = group.AllReduce(std::span(all), Operation::BitAnd());
    if (!done.ok()) return done;
    Ints odd = filter_of(group.rank());
    done = group.AllReduce(std::span(odd), Operation::BitXor());
    if (!done.ok()) return done;
    const std::int64_t each = std::int64_t{31} << 10;
    if (any != Ints(kWords, each | 1)) return absl::InternalError("bits of a member are missing");
    if (all != Ints(kWords, 1)) return absl::InternalError("not the bits that all have");
    // Of five that are set in one place, and of one.
    if (odd != Ints(kWords, each | 1)) return absl::InternalError("not the odd ones");
    return absl::OkStatus();
  });
  for (const absl::Status& result : results) EXPECT_TRUE(result.ok()) << result;
}

}  // namespace
}  // namespace weir::reduce
