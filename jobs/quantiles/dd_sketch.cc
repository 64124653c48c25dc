#include "jobs/quantiles/dd_sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "jobs/quantiles/magnitude_bins.h"

namespace weir::quantiles {
namespace {

// Bin 0, of the numbers from 1 on, lies so far from zero that all others lie between.
constexpr std::int32_t kPlaceOfOne = 1 << 16;
constexpr std::int32_t kPlaceMin = kPlaceOfOne - 35770;
constexpr std::int32_t kPlaceMax = kPlaceOfOne + 35839;

}  // namespace

DdSketch::DdSketch(double number)
    : least_(number), greatest_(number), bins_{Bin{PlaceOf(number), 0, 1}} {}

std::int32_t DdSketch::PlaceOf(double number) {
  if (number == 0) return 0;
  const std::int32_t place = kPlaceOfOne + BinOf(std::abs(number));
  return number < 0 ? -place : place;
}

double DdSketch::NumberAt(std::int32_t place) {
  if (place == 0) return 0;
  const double magnitude = ValueOfBin(std::abs(place) - kPlaceOfOne);
  return place < 0 ? -magnitude : magnitude;
}

void DdSketch::Add(double number) { Merge(DdSketch(number)); }

void DdSketch::Merge(const DdSketch& other) {
  if (other.bins_.empty()) return;
  if (bins_.empty()) {
    *this = other;
    return;
  }
  least_ = std::min(least_, other.least_);
  greatest_ = std::max(greatest_, other.greatest_);
  if (other.bins_.size() == 1) {
    AddBin(other.bins_[0]);
  } else {
    Bins both;
    both.reserve(bins_.size() + other.bins_.size());
    auto mine = bins_.begin();
    for (const Bin& theirs : other.bins_) {
      while (mine != bins_.end() && mine->place < theirs.place) both.push_back(*mine++);
      both.push_back(theirs);
      if (mine != bins_.end() && mine->place == theirs.place) both.back().count += (mine++)->count;
    }
    both.insert(both.end(), mine, bins_.end());
    bins_ = std::move(both);
  }
  if (bins_.size() > kBinsMax) Collapse();
}

void DdSketch::AddBin(const Bin& bin) {
  const auto at = std::lower_bound(bins_.begin(), bins_.end(), bin,
                                   [](const Bin& a, const Bin& b) { return a.place < b.place; });
  if (at != bins_.end() && at->place == bin.place) {
    at->count += bin.count;
  } else {
    bins_.insert(at, bin);
  }
}

void DdSketch::Collapse() {
  const auto positive = std::partition_point(bins_.begin(), bins_.end(),
                                             [](const Bin& bin) { return bin.place <= 0; });
  if (const auto num = static_cast<std::size_t>(bins_.end() - positive); num > kBinsMax) {
    const auto last_kept = positive + static_cast<std::ptrdiff_t>(num - kBinsMax);
    for (auto bin = positive; bin != last_kept; ++bin) last_kept->count += bin->count;
    bins_.erase(positive, last_kept);
  }
  const auto negative_end = std::partition_point(bins_.begin(), bins_.end(),
                                                 [](const Bin& bin) { return bin.place < 0; });
  if (const auto num = static_cast<std::size_t>(negative_end - bins_.begin()); num > kBinsMax) {
    const auto last_kept = bins_.begin() + static_cast<std::ptrdiff_t>(kBinsMax - 1);
    for (auto bin = last_kept + 1; bin != negative_end; ++bin) last_kept->count += bin->count;
    bins_.erase(last_kept + 1, negative_end);
  }
}

std::int64_t DdSketch::count() const {
  std::int64_t count = 0;
  for (const Bin& bin : bins_) count += bin.count;
  return count;
}

double DdSketch::AtRank(std::int64_t rank) const {
  if (rank == 0) return least_;
  std::int32_t place = 0;
  for (const Bin& bin : bins_) {
    place = bin.place;
    rank -= bin.count;
    if (rank < 0) break;
  }
  if (rank == -1 && place == bins_.back().place) return greatest_;
  return std::clamp(NumberAt(place), least_, greatest_);
}

void DdSketch::AppendTo(std::string& out) const {
  ValueCodec<double>::Append(least_, out);
  ValueCodec<double>::Append(greatest_, out);
  ValueCodec<std::uint32_t>::Append(static_cast<std::uint32_t>(bins_.size()), out);
  out.append(reinterpret_cast<const char*>(bins_.data()), bins_.size() * sizeof(Bin));
}

bool DdSketch::Take(std::string_view& in, DdSketch& sketch) {
  sketch.bins_.clear();
  std::uint32_t num_bins = 0;
  if (!ValueCodec<double>::Take(in, sketch.least_) ||
      !ValueCodec<double>::Take(in, sketch.greatest_) ||
      !ValueCodec<std::uint32_t>::Take(in, num_bins) || num_bins > 2 * kBinsMax + 1) {
    return false;
  }
  // Written so that NaN does not pass.
  if (!(std::abs(sketch.least_) <= std::numeric_limits<double>::max()) ||
      !(std::abs(sketch.greatest_) <= std::numeric_limits<double>::max()) ||
      !(sketch.least_ <= sketch.greatest_)) {
    return false;
  }
  sketch.bins_.reserve(num_bins);
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t i = 0; i < num_bins; ++i) {
    Bin bin;
    if (!ValueCodec<Bin>::Take(in, bin) || bin.count < 1 || bin.count > left) return false;
    const std::int32_t place = std::abs(bin.place);
    if (place != 0 && (place < kPlaceMin || place > kPlaceMax)) return false;
    if (i > 0 && bin.place <= sketch.bins_.back().place) return false;
    left -= bin.count;
    sketch.bins_.push_back(bin);
  }
  return true;
}

}  // namespace weir::quantiles
