#pragma once

// Counts distinct values in bounded memory. Upstream: hashes of values. Downstream:
// count_distinct.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "jobs/api/value_codec.h"

namespace weir::distinct {

/// A HyperLogLog sketch: estimates how many distinct values it was given.
///
/// Model: values are known by 64-bit hashes that are taken for uniform and independent. Up to
///   kHashesMax distinct ones the sketch is the set of them, and the count is exact (two of 1024
///   hashes are equal with a probability of 3e-14). Beyond, it is 2^kPrecision registers: the first
///   kPrecision bits of a hash choose one, which keeps the highest place of the first 1 among the
///   rest, counted from 1 (one more than there are when all are 0). The standard error is then
///   1.04 / sqrt(2^kPrecision) = 0.81 %.
/// Both forms are functions of the set of hashes, and so is which of them holds: the bytes do not
///   depend on the order and the grouping of Add and Merge, which are commutative and idempotent.
/// Bias: the estimator needs no table of corrections; it is the improved raw estimator, unbiased
///   over the whole range.
/// Source: Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a near-optimal
///   cardinality estimation algorithm", AofA 2007 (registers); Ertl, "New cardinality estimation
///   algorithms for HyperLogLog sketches", arXiv:1702.01284, 2017, algorithm 6 (estimator).
/// Bounds: 16 bytes of hashes inside the object, then at most 8 kHashesMax or 2^kPrecision bytes.
/// Checked by: tests/unit/jobs/distinct_test.cc, tests/integration/sketches_test.py (DataSketches).
class HyperLogLog {
 public:
  static constexpr int kPrecision = 14;
  static constexpr std::size_t kRegisters = std::size_t{1} << kPrecision;
  static constexpr std::size_t kHashesMax = 1024;
  /// Highest value of a register.
  static constexpr int kRankMax = 64 - kPrecision + 1;

  HyperLogLog() = default;
  explicit HyperLogLog(std::uint64_t hash) : hashes_{hash} {}
  HyperLogLog(const HyperLogLog& other);
  HyperLogLog& operator=(const HyperLogLog& other);
  HyperLogLog(HyperLogLog&&) noexcept = default;
  HyperLogLog& operator=(HyperLogLog&&) noexcept = default;
  ~HyperLogLog() = default;

  void Add(std::uint64_t hash);
  void Merge(const HyperLogLog& other);

  /// Returns the number of distinct hashes: exact while they are kept, else the estimate, rounded.
  std::int64_t Estimate() const;
  bool exact() const { return registers_ == nullptr; }
  /// Bytes outside of the object.
  std::int64_t heap_bytes() const {
    const bool inside = hashes_.capacity() <= kHashesInside;
    const std::size_t hashes = inside ? 0 : hashes_.capacity() * sizeof(std::uint64_t);
    return static_cast<std::int64_t>(hashes + (registers_ ? sizeof(Registers) : 0));
  }

  /// Appends its bytes; Take removes them from the front of `in` and returns false when they are
  /// not those of a sketch.
  void AppendTo(std::string& out) const;
  static bool Take(std::string_view& in, HyperLogLog& sketch);

 private:
  static constexpr std::size_t kHashesInside = 2;
  using Registers = std::array<std::uint8_t, kRegisters>;

  void AddToRegisters(std::uint64_t hash);
  void BecomeRegisters();

  absl::InlinedVector<std::uint64_t, kHashesInside> hashes_;  // ascending; empty beside registers
  std::unique_ptr<Registers> registers_;
};

}  // namespace weir::distinct

namespace weir {

template <>
struct ValueCodec<distinct::HyperLogLog> {
  static void Append(const distinct::HyperLogLog& value, std::string& out) { value.AppendTo(out); }
  static bool Take(std::string_view& in, distinct::HyperLogLog& value) {
    return distinct::HyperLogLog::Take(in, value);
  }
};

}  // namespace weir
