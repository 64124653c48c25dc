#include "runtime/reduce/operations.h"

#include <algorithm>
#include <functional>

namespace weir::reduce {
namespace {

constexpr int kSum = 1;
constexpr int kProduct = 2;
constexpr int kMin = 3;
constexpr int kMax = 4;
constexpr int kBitAnd = 5;
constexpr int kBitOr = 6;
constexpr int kBitXor = 7;

/// Larger than a core's own caches, as arrays that are worth planning for are.
constexpr std::size_t kMeasuredElements = 1 << 17;
constexpr int kMeasuredTries = 5;

template <typename T, typename Op>
void FoldAll(const void* left, const void* right, void* result, std::size_t n) {
  const T* l = static_cast<const T*>(left);
  const T* r = static_cast<const T*>(right);
  T* out = static_cast<T*>(result);
  for (std::size_t i = 0; i < n; ++i) out[i] = Op()(l[i], r[i]);
}

// Integers wrap around instead of overflowing.
template <typename T>
struct Arithmetic {
  using Type = T;
};
template <>
struct Arithmetic<std::int64_t> {
  using Type = std::uint64_t;
};

struct Plus {
  template <typename T>
  T operator()(T l, T r) const {
    using A = typename Arithmetic<T>::Type;
    return static_cast<T>(static_cast<A>(l) + static_cast<A>(r));
  }
};
struct Times {
  template <typename T>
  T operator()(T l, T r) const {
    using A = typename Arithmetic<T>::Type;
    return static_cast<T>(static_cast<A>(l) * static_cast<A>(r));
  }
};
// A NaN is not equal to itself: one on either side comes out.
struct Least {
  template <typename T>
  T operator()(T l, T r) const {
    return l < r || l != l ? l : r;
  }
};
struct Greatest {
  template <typename T>
  T operator()(T l, T r) const {
    return l > r || l != l ? l : r;
  }
};

template <typename Op>
Operation::Fold FoldOfType(DataType type) {
  switch (type) {
    case DataType::kFloat:
      return FoldAll<float, Op>;
    case DataType::kDouble:
      return FoldAll<double, Op>;
    case DataType::kInt64:
      return FoldAll<std::int64_t, Op>;
  }
  return nullptr;
}

template <typename Op>
Operation::Fold FoldOfBits(DataType type) {
  if (type != DataType::kInt64) return nullptr;
  return FoldAll<std::int64_t, Op>;
}

}  // namespace

Operation Operation::Sum() { return {"sum", kSum}; }
Operation Operation::Product() { return {"product", kProduct}; }
Operation Operation::Min() { return {"min", kMin}; }
Operation Operation::Max() { return {"max", kMax}; }
Operation Operation::BitAnd() { return {"bit-and", kBitAnd}; }
Operation Operation::BitOr() { return {"bit-or", kBitOr}; }
Operation Operation::BitXor() { return {"bit-xor", kBitXor}; }

Operation::Fold Operation::FoldOf(DataType type) const {
  switch (built_in_) {
    case kSum:
      return FoldOfType<Plus>(type);
    case kProduct:
      return FoldOfType<Times>(type);
    case kMin:
      return FoldOfType<Least>(type);
    case kMax:
      return FoldOfType<Greatest>(type);
    case kBitAnd:
      return FoldOfBits<std::bit_and<>>(type);
    case kBitOr:
      return FoldOfBits<std::bit_or<>>(type);
    case kBitXor:
      return FoldOfBits<std::bit_xor<>>(type);
    default:
      return type == type_ ? fold_ : nullptr;
  }
}

std::vector<Operation> BuiltInOperations() {
  return {Operation::Sum(),    Operation::Product(), Operation::Min(),   Operation::Max(),
          Operation::BitAnd(), Operation::BitOr(),   Operation::BitXor()};
}

std::size_t ElementBytes(DataType type) { return type == DataType::kFloat ? 4 : 8; }

const char* TypeName(DataType type) {
  switch (type) {
    case DataType::kFloat:
      return "float";
    case DataType::kDouble:
      return "double";
    case DataType::kInt64:
      return "int64";
  }
  return "unknown";
}

double MeasureSum(const std::function<double()>& now_s) {
  std::vector<double> into(kMeasuredElements, 1.0);
  const std::vector<double> from(kMeasuredElements, 2.0);
  const Operation::Fold sum = Operation::Sum().FoldOf(DataType::kDouble);
  double best_s = 1;
  for (int i = 0; i < kMeasuredTries; ++i) {
    const double begin_s = now_s();
    sum(into.data(), from.data(), into.data(), into.size());
    best_s = std::min(best_s, now_s() - begin_s);
  }
  return std::max(best_s, 1e-9) / static_cast<double>(kMeasuredElements * sizeof(double));
}

}  // namespace weir::reduce
