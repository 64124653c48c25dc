#include "jobs/distinct/hyper_log_log.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace weir::distinct {
namespace {

constexpr int kRestBits = 64 - HyperLogLog::kPrecision;
// Stands where the number of hashes does, and says that registers follow.
constexpr std::uint32_t kRegistersFollow = 0xffffffff;

// sigma and tau of the paper: what registers that are 0, and those at their highest value, add.
double Sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1;
  double z = x;
  double before = 0;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}

double Tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1;
  double z = 1 - x;
  double before = 0;
  do {
    x = std::sqrt(x);
    before = z;
    y /= 2;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

}  // namespace

HyperLogLog::HyperLogLog(const HyperLogLog& other)
    : hashes_(other.hashes_),
      registers_(other.registers_ ? std::make_unique<Registers>(*other.registers_) : nullptr) {}

HyperLogLog& HyperLogLog::operator=(const HyperLogLog& other) {
  *this = HyperLogLog(other);
  return *this;
}

void HyperLogLog::Add(std::uint64_t hash) {
  if (registers_) return AddToRegisters(hash);
  const auto at = std::lower_bound(hashes_.begin(), hashes_.end(), hash);
  if (at != hashes_.end() && *at == hash) return;
  hashes_.insert(at, hash);
  if (hashes_.size() > kHashesMax) BecomeRegisters();
}

void HyperLogLog::Merge(const HyperLogLog& other) {
  if (other.registers_) {
    if (!registers_) BecomeRegisters();
    for (std::size_t i = 0; i < kRegisters; ++i) {
      (*registers_)[i] = std::max((*registers_)[i], (*other.registers_)[i]);
    }
  } else if (registers_ || other.hashes_.size() == 1) {
    for (const std::uint64_t hash : other.hashes_) Add(hash);
  } else {
    absl::InlinedVector<std::uint64_t, 2> both;
    both.reserve(hashes_.size() + other.hashes_.size());
    std::set_union(hashes_.begin(), hashes_.end(), other.hashes_.begin(), other.hashes_.end(),
                   std::back_inserter(both));
    hashes_ = std::move(both);
    if (hashes_.size() > kHashesMax) BecomeRegisters();
  }
}

void HyperLogLog::AddToRegisters(std::uint64_t hash) {
  const int rank = std::min(std::countl_zero(hash << kPrecision), kRestBits) + 1;
  std::uint8_t& kept = (*registers_)[hash >> kRestBits];
  kept = std::max(kept, static_cast<std::uint8_t>(rank));
}

void HyperLogLog::BecomeRegisters() {
  registers_ = std::make_unique<Registers>();
  for (const std::uint64_t hash : hashes_) AddToRegisters(hash);
  hashes_.clear();
  hashes_.shrink_to_fit();
}

std::int64_t HyperLogLog::Estimate() const {
  if (exact()) return static_cast<std::int64_t>(hashes_.size());
  std::array<std::int64_t, kRankMax + 1> counts{};
  for (const std::uint8_t rank : *registers_) ++counts[rank];
  constexpr double kM = kRegisters;
  double z = kM * Tau(1 - static_cast<double>(counts[kRankMax]) / kM);
  for (std::size_t rank = kRankMax - 1; rank >= 1; --rank) {
    z = (z + static_cast<double>(counts[rank])) / 2;
  }
  z += kM * Sigma(static_cast<double>(counts[0]) / kM);
  constexpr double kTwoLn2 = 1.3862943611198906;
  const double estimate = kM * kM / (kTwoLn2 * z);
  // All registers at their highest value estimate infinity.
  constexpr double kMost = 9.2e18;
  return static_cast<std::int64_t>(std::llround(std::min(estimate, kMost)));
}

void HyperLogLog::AppendTo(std::string& out) const {
  if (registers_) {
    ValueCodec<std::uint32_t>::Append(kRegistersFollow, out);
    out.append(reinterpret_cast<const char*>(registers_->data()), kRegisters);
    return;
  }
  ValueCodec<std::uint32_t>::Append(static_cast<std::uint32_t>(hashes_.size()), out);
  out.append(reinterpret_cast<const char*>(hashes_.data()), hashes_.size() * sizeof hashes_[0]);
}

bool HyperLogLog::Take(std::string_view& in, HyperLogLog& sketch) {
  sketch.hashes_.clear();
  sketch.registers_.reset();
  std::uint32_t count = 0;
  if (!ValueCodec<std::uint32_t>::Take(in, count)) return false;
  if (count == kRegistersFollow) {
    if (in.size() < kRegisters) return false;
    sketch.registers_ = std::make_unique<Registers>();
    std::copy_n(in.begin(), kRegisters, sketch.registers_->begin());
    in.remove_prefix(kRegisters);
    return std::all_of(sketch.registers_->begin(), sketch.registers_->end(),
                       [](std::uint8_t rank) { return rank <= kRankMax; });
  }
  if (count > kHashesMax) return false;
  sketch.hashes_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t hash = 0;
    if (!ValueCodec<std::uint64_t>::Take(in, hash)) return false;
    if (i > 0 && hash <= sketch.hashes_.back()) return false;
    sketch.hashes_.push_back(hash);
  }
  return true;
}

}  // namespace weir::distinct
