#include "runtime/client/result_preview.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/file_bytes.h"

namespace weir::client {
namespace {

constexpr std::size_t kBytesReadMax = 64'000;

// The front of a file, as far as a preview can need it; what cannot be read gives nothing.
std::string Front(const std::string& path) {
  std::string front;
  VisitFileBytes(path, [&front](std::string_view bytes) {
    front.append(bytes.substr(0, kBytesReadMax - front.size()));
    return front.size() < kBytesReadMax ? absl::OkStatus() : absl::CancelledError("enough");
  }).IgnoreError();
  return front;
}

std::string Shown(std::string_view row, std::size_t columns) {
  std::string text = EscapeControls(row.substr(0, columns));
  if (text.size() > columns || row.size() > columns) {
    text.resize(std::min(text.size(), columns));
    text += "...";
  }
  return ValidUtf8(text);
}

}  // namespace

std::string PreviewRows(const std::vector<std::string>& part_paths, int rows_max, int columns) {
  std::string preview;
  int rows = 0;
  for (const std::string& path : part_paths) {
    const std::string front = Front(path);
    std::string_view rest = front;
    while (!rest.empty()) {
      if (rows++ == rows_max) return preview;
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      absl::StrAppend(&preview, "  ", Shown(rest.substr(0, end), static_cast<std::size_t>(columns)),
                      "\n");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return preview;
}

}  // namespace weir::client
