#pragma once

// Key and value of a line that a script wrote. Upstream: stdout of a script. Downstream: pairs.

#include <cstring>
#include <string>
#include <string_view>

namespace weir::stream {

struct KeyValue {
  std::string_view key;
  std::string_view value;
  /// False: the line has fewer separators than key fields; all of it is the key.
  bool cut = false;
};

/// Where lines are cut: at the separator that ends field `key_fields` (from 1).
struct FieldCut {
  std::string separator = "\t";
  int key_fields = 1;

  /// Checked by: tests/unit/jobs/stream/contract_test.cc.
  KeyValue Cut(std::string_view line) const {
    std::size_t at = Find(line, 0);
    for (int field = 1; field < key_fields && at != std::string_view::npos; ++field) {
      at = Find(line, at + separator.size());
    }
    if (at == std::string_view::npos) return {line, {}, false};
    return {line.substr(0, at), line.substr(at + separator.size()), true};
  }

 private:
  std::size_t Find(std::string_view line, std::size_t from) const {
    if (separator.size() != 1) return line.find(separator, from);
    if (from >= line.size()) return std::string_view::npos;
    const void* found = std::memchr(line.data() + from, separator[0], line.size() - from);
    return found == nullptr
               ? std::string_view::npos
               : static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
  }
};

}  // namespace weir::stream
