#pragma once

// Edges of a graph: how lines give them, how a slot keeps them, and made-up ones. Upstream: lines
// of the input. Downstream: find_ranks.h; weir data generate.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/api/job_data.h"

namespace weir::pagerank {

/// Most node ids of a graph: every slot of every worker holds an element, 8 bytes an id.
inline constexpr std::int64_t kNodesMax = std::int64_t{1} << 27;

struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  friend auto operator<=>(const Edge&, const Edge&) = default;
};

/// What a line of an edge list is.
struct EdgeLine {
  bool has_edge = false;  // otherwise it is blank, a comment or wrong
  Edge edge;
  std::string wrong;  // what is, for people; empty when nothing is
};

/// Reads "FROM TO": two decimal integers in [0, nodes), parted by blanks, tabs or one comma with
/// blanks around it. A '#' and what follows is a comment; '\r' counts as a blank.
/// Requires: 1 <= nodes <= kNodesMax. Checked by: tests/unit/jobs/pagerank_test.cc.
EdgeLine ParseEdge(std::string_view line, std::int64_t nodes);

/// The edges of one slot, which stay with it.
class Links {
 public:
  void Add(Edge edge);
  /// Sorts by source, then target: sums are made in this order, and a source is looked up once.
  void Sort();

  const std::vector<Edge>& edges() const { return edges_; }
  /// Edges of the whole graph that leave each source of edges(), in their order; empty until known.
  std::vector<double>& degrees() { return degrees_; }
  const std::vector<double>& degrees() const { return degrees_; }
  /// With room for the degrees.
  std::int64_t memory_bytes() const;

 private:
  std::vector<Edge> edges_;
  std::vector<double> degrees_;
  std::int64_t num_ids_ = 0;  // the largest source and one
};

/// Makes edges "from,to" among kIds nodes of a graph in which in-degrees follow a power law: the
/// r-th most linked node gets edges like r^-s, s = 1/2 + skew/2 (at most kSkewMax). Seven of eight
/// nodes have edges that leave them, all equally many but for chance; one of eight dangles.
class EdgeGenerator : public RecordGenerator {
 public:
  static constexpr std::uint64_t kIds = 100'000;

  explicit EdgeGenerator(const GenerateOptions& options) : options_(options) {}
  void Append(std::int64_t number, std::string& out) override;

 private:
  const GenerateOptions options_;
};

}  // namespace weir::pagerank
