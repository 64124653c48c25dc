#include "jobs/kmeans/find_centroids.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "jobs/records/number.h"

namespace weir::kmeans {
namespace {

std::string_view Trimmed(std::string_view field) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = field.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return field.substr(begin, field.find_last_not_of(kBlank) - begin + 1);
}

std::uint64_t Mixed(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

double SquaredDistance(const double* point, const double* centroid, std::int64_t dimensions) {
  double sum = 0;
  for (std::int64_t d = 0; d < dimensions; ++d) {
    const double apart = point[d] - centroid[d];
    sum += apart * apart;
  }
  return sum;
}

// Beyond some 1e154 squares overflow: a point is then near to no centroid, and sums and means tell
// nothing.
absl::Status NotFinite(int iteration, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " of iteration ", iteration, " is no finite number; scale the columns"));
}

// Shortest text that reads back as the same number.
void AppendNumber(double value, std::string& out) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
  out.append(text, end.ptr);
}

}  // namespace

std::string ParseRow(const CsvRow& row, std::int64_t dimensions, std::vector<double>& values) {
  if (static_cast<std::int64_t>(row.fields.size()) != dimensions) {
    return absl::StrCat("row of ", row.fields.size(), row.fields.size() == 1 ? " field" : " fields",
                        "; expected ", dimensions, " numbers (--set dimensions=N)");
  }
  const std::size_t before = values.size();
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    double value = 0;
    // It makes one zero of all, so that equal points have equal bits.
    if (!ParseNumber(Trimmed(row.fields[i]), value)) {
      values.resize(before);
      return absl::StrCat("field ", i + 1, " is not a finite number");
    }
    values.push_back(value);
  }
  return "";
}

double SeedOrder(absl::Span<const double> point, std::uint64_t seed) {
  std::uint64_t hash = Mixed(seed);
  for (const double value : point) hash = Mixed(hash ^ std::bit_cast<std::uint64_t>(value));
  return static_cast<double>((hash >> 12) + 1);
}

// Keeps the rows of an element sorted: candidates by order, of equal order by point, then the empty
// ones.
void FindCentroids::TakeCandidate(double order, absl::Span<const double> point,
                                  absl::Span<double> element) const {
  const auto before = [&](absl::Span<const double> row) {
    if (row[0] == 0) return false;
    if (row[0] != order) return row[0] < order;
    return std::lexicographical_compare(row.begin() + 1, row.end(), point.begin(), point.end());
  };
  const std::int64_t k = options_.clusters;
  if (before(Row(element, k - 1))) return;
  std::int64_t low = 0, high = k - 1;  // first row that is not before the point
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (before(Row(element, middle))) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const absl::Span<double> place = Row(element, low);
  if (place[0] == order && std::equal(point.begin(), point.end(), place.begin() + 1)) return;
  const auto begin = element.begin() + 2 + low * row_places();
  std::copy_backward(begin, element.end() - row_places(), element.end());
  *begin = order;
  std::copy(point.begin(), point.end(), begin + 1);
}

void FindCentroids::FindCandidates(const Points& points, absl::Span<double> element) const {
  const std::int64_t dimensions = options_.dimensions;
  const auto num_points = static_cast<std::int64_t>(points.values.size()) / dimensions;
  element[0] = static_cast<double>(num_points);
  for (std::int64_t i = 0; i < num_points; ++i) {
    const absl::Span<const double> point(points.values.data() + i * dimensions,
                                         static_cast<std::size_t>(dimensions));
    TakeCandidate(SeedOrder(point, options_.seed), point, element);
  }
}

void FindCentroids::Map(int iteration, const Points& points, absl::Span<const double> state,
                        absl::Span<double> element) const {
  if (iteration == 0) return FindCandidates(points, element);
  const std::int64_t dimensions = options_.dimensions;
  const auto num_points = static_cast<std::int64_t>(points.values.size()) / dimensions;
  element[0] = static_cast<double>(num_points);
  for (std::int64_t i = 0; i < num_points; ++i) {
    const double* const point = points.values.data() + i * dimensions;
    double nearest = std::numeric_limits<double>::infinity();
    std::int64_t cluster = 0;
    for (std::int64_t c = 0; c < options_.clusters; ++c) {
      const double apart = SquaredDistance(point, Row(state, c).data() + 1, dimensions);
      if (apart < nearest) {
        nearest = apart;
        cluster = c;
      }
    }
    element[1] += nearest;
    const absl::Span<double> sums = Row(element, cluster);
    sums[0] += 1;
    for (std::int64_t d = 0; d < dimensions; ++d) {
      sums[static_cast<std::size_t>(1 + d)] += point[d];
    }
  }
}

void FindCentroids::Combine(int iteration, absl::Span<double> into,
                            absl::Span<const double> from) const {
  if (iteration > 0) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
    return;
  }
  into[0] += from[0];
  for (std::int64_t c = 0; c < options_.clusters; ++c) {
    const absl::Span<const double> row = Row(from, c);
    if (row[0] == 0) return;
    TakeCandidate(row[0], row.subspan(1), into);
  }
}

absl::StatusOr<LoopOutcome> FindCentroids::Update(int iteration, absl::Span<const double> state,
                                                  absl::Span<const double> element,
                                                  absl::Span<double> next) const {
  const std::int64_t k = options_.clusters;
  next[1] = element[0];
  if (iteration == 0) {
    std::int64_t found = 0;
    while (found < k && Row(element, found)[0] != 0) ++found;
    if (element[0] == 0) return absl::InvalidArgumentError("the input has no row to cluster");
    if (found < k) {
      return absl::InvalidArgumentError(absl::StrCat(
          "k is ", k, ", but the input has only ", found, " distinct rows of ",
          static_cast<std::int64_t>(element[0]), "; ask for fewer clusters (--set k=", found, ")"));
    }
    for (std::int64_t c = 0; c < k; ++c) {
      const absl::Span<const double> seed = Row(element, c);
      std::copy(seed.begin() + 1, seed.end(), Row(next, c).begin() + 1);
    }
    next[0] = std::numeric_limits<double>::infinity();
    return LoopOutcome{next[0], false};
  }
  next[0] = element[1];
  if (!std::isfinite(next[0])) return NotFinite(iteration, "the inertia");
  double moved = 0;
  for (std::int64_t c = 0; c < k; ++c) {
    const absl::Span<const double> sums = Row(element, c);
    const absl::Span<const double> old = Row(state, c);
    const absl::Span<double> centroid = Row(next, c);
    centroid[0] = sums[0];
    for (std::size_t d = 1; d < centroid.size(); ++d) {
      centroid[d] = sums[0] > 0 ? sums[d] / sums[0] : old[d];
      if (!std::isfinite(centroid[d])) return NotFinite(iteration, "a centroid");
    }
    moved =
        std::max(moved, SquaredDistance(centroid.data() + 1, old.data() + 1, options_.dimensions));
  }
  return LoopOutcome{next[0], std::sqrt(moved) <= options_.tolerance};
}

void FindCentroids::Format(absl::Span<const double> state, std::string& out) const {
  for (std::int64_t c = 0; c < options_.clusters; ++c) {
    const absl::Span<const double> row = Row(state, c);
    absl::StrAppend(&out, c, ",", static_cast<std::int64_t>(row[0]));
    for (std::size_t d = 1; d < row.size(); ++d) {
      out += ',';
      AppendNumber(row[d], out);
    }
    out += '\n';
  }
  out += "inertia,";
  AppendNumber(state[0], out);
  out += '\n';
}

}  // namespace weir::kmeans
