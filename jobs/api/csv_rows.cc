#include "jobs/api/readers.h"

namespace weir {

bool CsvRows::Split(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  row_.line = line;
  row_.fields.clear();
  unquoted_.clear();
  // Views into it are taken while it fills: a line never grows by unquoting.
  unquoted_.reserve(line.size());
  std::size_t at = 0;
  while (true) {
    if (at < line.size() && line[at] == '"') {
      const std::size_t begin = unquoted_.size();
      for (++at;; ++at) {
        if (at >= line.size()) return false;
        if (line[at] == '"' && (++at >= line.size() || line[at] != '"')) break;
        unquoted_.push_back(line[at]);
      }
      row_.fields.push_back(std::string_view(unquoted_).substr(begin));
      if (at < line.size() && line[at] != ',') return false;
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      row_.fields.push_back(line.substr(at, comma - at));
      at = comma;
    }
    if (at >= line.size()) return true;
    ++at;
  }
}

}  // namespace weir
