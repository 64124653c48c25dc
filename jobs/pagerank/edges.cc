#include "jobs/pagerank/edges.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "jobs/records/random_numbers.h"

namespace weir::pagerank {
namespace {

constexpr std::string_view kBlank = " \t\r\v\f";

void SkipBlank(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
}

// Takes what stands up to the next blank or comma.
std::string_view TakeWord(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && text[end] != ',' && kBlank.find(text[end]) == kBlank.npos) ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

// Returns what is wrong with a word, or sets the id.
std::string ParseId(std::string_view word, std::int64_t nodes, std::uint32_t& id) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool integer = !word.empty() && end == word.data() + word.size();
  if (integer && error == std::errc() && value < static_cast<std::uint64_t>(nodes)) {
    id = static_cast<std::uint32_t>(value);
    return "";
  }
  constexpr std::size_t kShown = 40;
  const std::string shown =
      absl::CEscape(absl::string_view(word.data(), std::min(word.size(), kShown)));
  return absl::StrCat("'", shown, word.size() > kShown ? "..." : "",
                      "' is no node: ids are integers from 0 to ", nodes - 1,
                      integer ? "; --set nodes=N allows more" : "");
}

}  // namespace

EdgeLine ParseEdge(std::string_view line, std::int64_t nodes) {
  EdgeLine parsed;
  std::string_view rest = line.substr(0, line.find('#'));
  SkipBlank(rest);
  if (rest.empty()) return parsed;
  const std::string_view from = TakeWord(rest);
  SkipBlank(rest);
  if (!rest.empty() && rest.front() == ',') {
    rest.remove_prefix(1);
    SkipBlank(rest);
  }
  const std::string_view to = TakeWord(rest);
  SkipBlank(rest);
  parsed.wrong = ParseId(from, nodes, parsed.edge.from);
  if (!parsed.wrong.empty()) return parsed;
  if (to.empty() && rest.empty()) {
    parsed.wrong = "one node; expected two, 'FROM TO'";
  } else if (!rest.empty()) {
    parsed.wrong = "more than two nodes; expected 'FROM TO'";
  } else {
    parsed.wrong = ParseId(to, nodes, parsed.edge.to);
  }
  parsed.has_edge = parsed.wrong.empty();
  return parsed;
}

void Links::Add(Edge edge) {
  edges_.push_back(edge);
  num_ids_ = std::max<std::int64_t>(num_ids_, std::int64_t{edge.from} + 1);
}

void Links::Sort() { std::sort(edges_.begin(), edges_.end()); }

std::int64_t Links::memory_bytes() const {
  const std::int64_t sources = std::min(static_cast<std::int64_t>(edges_.size()), num_ids_);
  return static_cast<std::int64_t>(edges_.capacity() * sizeof(Edge)) +
         sources * static_cast<std::int64_t>(sizeof(double));
}

void EdgeGenerator::Append(std::int64_t number, std::string& out) {
  const auto at = static_cast<std::uint64_t>(number);
  // Of every eight ids the first has no edges that leave it.
  const std::uint64_t source = SkewedRank(RandomOf(options_.seed, at, 0), 0, kIds / 8 * 7);
  const std::uint64_t from = source / 7 * 8 + source % 7 + 1;
  const double skew = std::min(kSkewMax, 0.5 + options_.skew / 2);
  const std::uint64_t rank = SkewedRank(RandomOf(options_.seed, at, 1), skew, kIds);
  // Prime to kIds, so that each rank has an id of its own, anywhere.
  constexpr std::uint64_t kStride = 38'197;
  absl::StrAppend(&out, from, ",", rank * kStride % kIds, "\n");
}

}  // namespace weir::pagerank
