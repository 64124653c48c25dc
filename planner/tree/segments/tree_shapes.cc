#include "planner/tree/segments/tree_shapes.h"

namespace weir::planner::tree {

namespace {

Receivers Unconnected(std::int32_t p) { return Receivers(static_cast<std::size_t>(p), kNoMachine); }

// Hangs an in-order tree over the ranks low..high under `parent`; odd positions of the range are
// leaves.
void FillInOrder(std::int32_t low, std::int32_t high, MachineIndex parent, Receivers& tree) {
  if (low > high) return;
  std::int32_t half = 1;
  while (half * 2 <= high - low + 1) half *= 2;
  const std::int32_t top = low + half - 1;
  tree[top] = parent;
  FillInOrder(low, top - 1, top, tree);
  FillInOrder(top + 1, high, top, tree);
}

}  // namespace

Receivers BinomialShape(std::int32_t p) {
  Receivers tree = Unconnected(p);
  for (MachineIndex i = 1; i < p; ++i) tree[i] = i & (i - 1);
  return tree;
}

Receivers PipelineShape(std::int32_t p) {
  Receivers tree = Unconnected(p);
  for (MachineIndex i = 1; i < p; ++i) tree[i] = i - 1;
  return tree;
}

Receivers BinaryShape(std::int32_t p) {
  Receivers tree = Unconnected(p);
  for (MachineIndex i = 1; i < p; ++i) tree[i] = (i - 1) / 2;
  return tree;
}

Receivers StarShape(std::int32_t p) {
  Receivers tree = Unconnected(p);
  for (MachineIndex i = 1; i < p; ++i) tree[i] = 0;
  return tree;
}

Receivers InOrderBinaryShape(std::int32_t p) {
  Receivers tree = Unconnected(p);
  FillInOrder(1, p - 1, 0, tree);
  return tree;
}

std::pair<Receivers, Receivers> TwoTreeShapes(std::int32_t p) {
  const Receivers first = InOrderBinaryShape(p);
  Receivers second = Unconnected(p);
  const std::int32_t n = p - 1;
  for (MachineIndex i = 1; i <= n; ++i) {
    if (n % 2 == 0) {
      second[n + 1 - i] = first[i] == 0 ? 0 : n + 1 - first[i];
    } else {
      second[i % n + 1] = first[i] == 0 ? 0 : first[i] % n + 1;
    }
  }
  return {first, second};
}

std::pair<Receivers, Receivers> OrderedTwoTreeShapes(std::int32_t p) {
  Receivers second = Unconnected(p);
  FillInOrder(2, p - 1, 0, second);
  if (p > 1) second[1] = p > 2 ? 2 : 0;
  return {InOrderBinaryShape(p), second};
}

std::vector<Receivers> RotatingCentreShapes(std::int32_t p) {
  std::vector<Receivers> trees;
  for (MachineIndex centre = 1; centre < p; ++centre) {
    Receivers tree(static_cast<std::size_t>(p), centre);
    tree[0] = kNoMachine;
    tree[centre] = 0;
    trees.push_back(std::move(tree));
  }
  if (trees.empty()) trees.push_back({kNoMachine});
  return trees;
}

}  // namespace weir::planner::tree
