#pragma once

// What an iteration of PageRank does with edges, contributions and ranks. Upstream: pagerank.cc.
// Downstream: jobs/engine/loop_program.h.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/readers.h"
#include "jobs/engine/loop_program.h"
#include "jobs/pagerank/edges.h"

namespace weir::pagerank {

/// Parameters of a run.
struct Options {
  std::int64_t nodes = 1;  // ids are in [0, nodes); 1 to kNodesMax
  double damping = 0.85;   // in [0, 1]
  /// A loop ends when the ranks change by no more than this, summed over all nodes. >= 0.
  double tolerance = 0;
};

/// PageRank by power iteration.
///
/// Model: n nodes are the ids that an edge names. x'(v) = damping * (sum of x(u) / degree(u) over
///   the edges u -> v + D / n) + (1 - damping) / n, where degree(u) is the number of edges that
///   leave u and D the sum of x over nodes that none leaves. x begins with 1/n. An edge that stands
///   twice counts twice; one from a node to itself counts as any other.
/// Element, a place an id: in iteration 0 the degree, -1 for a node that only has edges towards it,
///   0 for an id that no edge names; later the sum over the edges. As ranks sum to 1, D is what the
///   contributions lack of 1.
/// State, a place an id: after iteration 0 its element, later the rank, kAbsent for an id that no
///   edge names. Slots keep the degrees of their sources from iteration 1 on, so that a state needs
///   not say them again.
/// Errors: kInvalidArgument when there is no edge.
/// Thread-safety: all but Load are const; Map changes its own links only.
/// Source: L. Page, S. Brin, R. Motwani, T. Winograd, "The PageRank citation ranking: bringing
///   order to the web", Stanford InfoLab 1999-66, 1999; dangling nodes as networkx.pagerank.
/// Checked by: tests/unit/jobs/pagerank_test.cc, tests/integration/pagerank_test.py.
class FindRanks {
 public:
  using Reader = TextLines;
  using Place = double;
  using Resident = Links;
  static constexpr std::string_view kMeasure = "l1_change";
  static constexpr double kAbsent = -1;

  explicit FindRanks(const Options& options) : options_(options) {}

  std::int64_t Places() const { return options_.nodes; }
  std::int64_t StatePlaces() const { return options_.nodes; }

  template <typename Emit>
  void Load(std::string_view line, Links& links, Emit& emit) {
    const EdgeLine parsed = ParseEdge(line, options_.nodes);
    if (!parsed.wrong.empty()) return emit.Reject(line, parsed.wrong);
    if (parsed.has_edge) links.Add(parsed.edge);
  }
  void Map(int iteration, Links& links, absl::Span<const double> state,
           absl::Span<double> element) const;
  void Combine(int iteration, absl::Span<double> into, absl::Span<const double> from) const;
  absl::StatusOr<LoopOutcome> Update(int iteration, absl::Span<const double> state,
                                     absl::Span<const double> element,
                                     absl::Span<double> next) const;
  /// A line a node, by rising id: id, tab, rank.
  void Format(absl::Span<const double> state, std::string& out) const;

 private:
  Options options_;
};

}  // namespace weir::pagerank
