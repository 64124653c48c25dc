#include "runtime/master/input/glob_pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir::master {
namespace {

// More than people write; braces of braces would otherwise fill the memory.
constexpr std::size_t kAlternativesMax = 1000;

// The first braces of a pattern that stand for anything.
struct Braces {
  std::size_t begin = 0;               // of "{"
  std::size_t end = 0;                 // behind "}"
  std::vector<std::string> choices{};  // what is between their commas
};

// Those that open at `begin`; none where they do not close.
std::optional<Braces> BracesAt(const std::string& pattern, std::size_t begin) {
  Braces braces{.begin = begin};
  std::size_t choice = begin + 1;
  int depth = 0;
  for (std::size_t i = begin; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
      continue;
    }
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if ((c == ',' && depth == 1) || depth == 0) {
      braces.choices.push_back(pattern.substr(choice, i - choice));
      choice = i + 1;
    }
    if (depth > 0) continue;
    braces.end = i + 1;
    return braces;
  }
  return std::nullopt;
}

std::optional<Braces> FirstBraces(const std::string& pattern) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
      continue;
    }
    // "{}" stands for itself.
    if (pattern[i] == '{' && pattern.compare(i, 2, "{}") != 0) return BracesAt(pattern, i);
  }
  return std::nullopt;
}

std::vector<std::string> NamesOf(const std::string& path) {
  return absl::StrSplit(path, '/', absl::SkipEmpty());
}

}  // namespace

bool IsGlob(std::string_view path) { return path.find_first_of("*?[{") != std::string_view::npos; }

std::vector<std::string> Alternatives(const std::string& pattern) {
  std::vector<std::string> all = {pattern};
  for (std::size_t i = 0; i < all.size() && all.size() < kAlternativesMax; ++i) {
    const std::string next = all[i];
    const std::optional<Braces> braces = FirstBraces(next);
    if (!braces) continue;
    for (const std::string& choice : braces->choices) {
      all.push_back(absl::StrCat(next.substr(0, braces->begin), choice, next.substr(braces->end)));
    }
  }
  return all;
}

bool MatchesName(const std::string& pattern, const std::string& name) {
  if (fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) return false;
  return !name.starts_with('_') || pattern.starts_with('_') || pattern.starts_with("\\_") ||
         pattern.starts_with("[_");
}

bool AsksFor(const std::vector<std::string>& alternatives, const std::string& path) {
  const std::vector<std::string> names = NamesOf(path);
  return std::any_of(alternatives.begin(), alternatives.end(), [&](const std::string& pattern) {
    const std::vector<std::string> patterns = NamesOf(pattern);
    return std::equal(patterns.begin(), patterns.end(), names.begin(), names.end(), MatchesName);
  });
}

}  // namespace weir::master
