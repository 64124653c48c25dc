#include "jobs/pagerank/find_ranks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weir::pagerank {
namespace {

// Ids that an edge names, by the degrees.
double CountNodes(absl::Span<const double> degrees) {
  return static_cast<double>(
      std::count_if(degrees.begin(), degrees.end(), [](double degree) { return degree != 0; }));
}

// A sum of many small numbers that is right to the last bits (Neumaier's).
class ExactSum {
 public:
  void Add(double value) {
    const double sum = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

// Calls visit(first, last) for the edges of each source.
template <typename Visit>
void ForEachSource(const std::vector<Edge>& edges, Visit visit) {
  for (std::size_t first = 0, last = 0; first < edges.size(); first = last) {
    while (last < edges.size() && edges[last].from == edges[first].from) ++last;
    visit(first, last);
  }
}

void CountEdges(const std::vector<Edge>& edges, absl::Span<double> element) {
  for (const Edge& edge : edges) element[edge.to] = -1;
  ForEachSource(edges, [&](std::size_t first, std::size_t last) {
    element[edges[first].from] = static_cast<double>(last - first);
  });
}

}  // namespace

void FindRanks::Map(int iteration, Links& links, absl::Span<const double> state,
                    absl::Span<double> element) const {
  if (iteration == 0) {
    links.Sort();
    return CountEdges(links.edges(), element);
  }
  const std::vector<Edge>& edges = links.edges();
  const double first_rank = iteration == 1 ? 1 / CountNodes(state) : 0;
  if (iteration == 1) {
    links.degrees().clear();
    ForEachSource(edges, [&](std::size_t first, std::size_t) {
      links.degrees().push_back(state[edges[first].from]);
    });
  }
  std::size_t source = 0;
  ForEachSource(edges, [&](std::size_t first, std::size_t last) {
    const double rank = iteration == 1 ? first_rank : state[edges[first].from];
    const double share = rank / links.degrees()[source++];
    for (std::size_t i = first; i < last; ++i) element[edges[i].to] += share;
  });
}

void FindRanks::Combine(int iteration, absl::Span<double> into,
                        absl::Span<const double> from) const {
  if (iteration > 0) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
    return;
  }
  for (std::size_t i = 0; i < into.size(); ++i) {
    const double degree = std::max(into[i], 0.0) + std::max(from[i], 0.0);
    into[i] = degree > 0 ? degree : std::min(into[i], from[i]);
  }
}

absl::StatusOr<LoopOutcome> FindRanks::Update(int iteration, absl::Span<const double> state,
                                              absl::Span<const double> element,
                                              absl::Span<double> next) const {
  if (iteration == 0) {
    if (CountNodes(element) == 0) {
      return absl::InvalidArgumentError("the input has no edge, so that there is nothing to rank");
    }
    std::copy(element.begin(), element.end(), next.begin());
    // The first ranks are all the same: nothing has changed yet that could be measured.
    return LoopOutcome{std::numeric_limits<double>::infinity(), false};
  }
  const double absent = iteration == 1 ? 0 : kAbsent;
  double num_nodes = 0;
  ExactSum given;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (state[i] == absent) continue;
    num_nodes += 1;
    given.Add(element[i]);
  }
  const double dangling = std::max(0.0, 1 - given.value());
  const double everywhere =
      options_.damping * dangling / num_nodes + (1 - options_.damping) / num_nodes;
  ExactSum change;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (state[i] == absent) {
      next[i] = kAbsent;
      continue;
    }
    next[i] = options_.damping * element[i] + everywhere;
    change.Add(std::abs(next[i] - (iteration == 1 ? 1 / num_nodes : state[i])));
  }
  return LoopOutcome{change.value(), change.value() <= options_.tolerance};
}

void FindRanks::Format(absl::Span<const double> state, std::string& out) const {
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (state[i] == kAbsent) continue;
    char rank[32];  // the shortest text that reads back as the same number
    const std::to_chars_result end = std::to_chars(rank, rank + sizeof(rank), state[i]);
    absl::StrAppend(&out, i, "\t");
    out.append(rank, end.ptr);
    out += '\n';
  }
}

}  // namespace weir::pagerank
