#pragma once

// Results of jobs as one text in which lines have no order of their own. Upstream: tests of the
// engine.

#include <algorithm>
#include <string>
#include <vector>

namespace weir::testing {

/// The lines of all parts, sorted.
inline std::string SortedLines(const std::vector<std::string>& parts) {
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t end = part.find('\n', at);
      lines.push_back(part.substr(at, end + 1 - at));
      at = end + 1;
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace weir::testing
