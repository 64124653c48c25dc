#include "tests/sim/contents.h"

#include <algorithm>
#include <set>

namespace weir::sim {

void AppendInput(const InputPiece& piece, std::vector<InputPiece>& input) {
  if (piece.begin == piece.end) return;
  if (!input.empty() && input.back().path == piece.path && input.back().end == piece.begin) {
    input.back().end = piece.end;
  } else {
    input.push_back(piece);
  }
}

Content Fold(const std::vector<Content>& operands) {
  std::set<double> borders;
  for (const Content& operand : operands) {
    for (const ContentPiece& piece : operand) borders.insert({piece.begin, piece.end});
  }
  Content folded;
  for (auto at = borders.begin(); at != borders.end() && std::next(at) != borders.end(); ++at) {
    ContentPiece made{*at, *std::next(at), {}};
    for (const Content& operand : operands) {
      for (const ContentPiece& piece : operand) {
        if (piece.begin > made.begin || piece.end < made.end) continue;
        for (const InputPiece& input : piece.input) AppendInput(input, made.input);
      }
    }
    if (!made.input.empty()) folded.push_back(std::move(made));
  }
  return folded;
}

Content Cut(const Content& content, double begin, double end) {
  Content cut;
  for (const ContentPiece& piece : content) {
    ContentPiece part = piece;
    part.begin = std::max(part.begin, begin);
    part.end = std::min(part.end, end);
    if (part.begin < part.end) cut.push_back(std::move(part));
  }
  return cut;
}

double LengthOf(const Content& content) {
  double length = 0;
  for (const ContentPiece& piece : content) length += piece.end - piece.begin;
  return length;
}

Content Contents::ResultOf(const std::string& job) const {
  const auto parts = parts_.find(job);
  if (parts == parts_.end()) return {};
  Content result;
  for (const auto& [index, part] : parts->second) {
    result.insert(result.end(), part.begin(), part.end());
  }
  std::sort(result.begin(), result.end(),
            [](const ContentPiece& a, const ContentPiece& b) { return a.begin < b.begin; });
  return result;
}

}  // namespace weir::sim
