#include "tests/sim/contents.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"

namespace weir::sim {

void AppendInput(const InputPiece& piece, std::vector<InputPiece>& input) {
  if (piece.begin == piece.end) return;
  if (!input.empty() && input.back().path == piece.path && input.back().end == piece.begin) {
    input.back().end = piece.end;
  } else {
    input.push_back(piece);
  }
}

Content Fold(const std::vector<const Content*>& operands) {
  std::set<double> borders;
  for (const Content* const operand : operands) {
    for (const ContentPiece& piece : *operand) borders.insert({piece.begin, piece.end});
  }
  Content folded;
  for (auto at = borders.begin(); at != borders.end() && std::next(at) != borders.end(); ++at) {
    ContentPiece made{*at, *std::next(at), {}};
    for (const Content* const operand : operands) {
      for (const ContentPiece& piece : *operand) {
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

std::string NameOfLayer(int layer) { return absl::StrCat("layer ", layer); }

Content Emitted(const Content& content, int layer) {
  const auto place = [](double at) {
    return static_cast<std::int64_t>(std::llround(at * static_cast<double>(kLayerPlaces)));
  };
  Content emitted = {{0, 1, {}}};
  for (const ContentPiece& piece : content) {
    AppendInput({NameOfLayer(layer), place(piece.begin), place(piece.end)}, emitted[0].input);
  }
  if (emitted[0].input.empty()) return {};
  return emitted;
}

void Contents::GoOn(const PlanOfJob& from, const PlanOfJob& to) {
  std::vector<std::pair<std::tuple<PlanOfJob, std::string, int>, Content>> sections;
  for (const auto& [section, content] : sections_) {
    const auto& [plan, run, consumer] = section;
    if (plan == from) sections.push_back({{to, run, consumer}, content});
  }
  // What is there is there already: each worker of the plan says so.
  for (auto& [section, content] : sections) sections_.try_emplace(section, std::move(content));
  std::vector<std::pair<PlanOfJob, std::string>> damaged;
  for (const auto& [plan, run] : damaged_) {
    if (plan == from) damaged.emplace_back(to, run);
  }
  damaged_.insert(damaged.begin(), damaged.end());
}

Content Contents::CommittedParts(const std::string& job, const std::set<PartKey>& committed) const {
  Content found;
  const auto attempts = attempts_.find(job);
  if (attempts == attempts_.end()) return {};
  for (const auto& [key, part] : attempts->second) {
    if (committed.contains(key)) found.insert(found.end(), part.begin(), part.end());
  }
  std::sort(found.begin(), found.end(),
            [](const ContentPiece& a, const ContentPiece& b) { return a.begin < b.begin; });
  return found;
}

Content Contents::ResultOf(const std::string& job) const {
  constexpr std::int64_t kBehindAll = std::numeric_limits<std::int64_t>::max();
  auto parts = parts_.lower_bound({job, kBehindAll, kBehindAll});
  if (parts == parts_.begin() || std::get<0>((--parts)->first) != job) return {};
  Content result;
  for (const auto& [index, part] : parts->second) {
    result.insert(result.end(), part.begin(), part.end());
  }
  std::sort(result.begin(), result.end(),
            [](const ContentPiece& a, const ContentPiece& b) { return a.begin < b.begin; });
  return result;
}

}  // namespace weir::sim
