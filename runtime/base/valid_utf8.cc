#include "runtime/base/valid_utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr std::size_t kCharacterBytesMax = 4;

// Length of the character that `text` begins with; 0 when it begins with none.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  std::size_t bytes = 0;
  std::uint32_t code = 0;
  std::uint32_t least = 0;  // of this length: shorter spellings of a character are not legal
  if ((byte(0) & 0xe0) == 0xc0) {
    bytes = 2;
    code = byte(0) & 0x1fu;
    least = 0x80;
  } else if ((byte(0) & 0xf0) == 0xe0) {
    bytes = 3;
    code = byte(0) & 0x0fu;
    least = 0x800;
  } else if ((byte(0) & 0xf8) == 0xf0) {
    bytes = 4;
    code = byte(0) & 0x07u;
    least = 0x10000;
  }
  if (bytes == 0 || bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= least && code <= 0x10ffff && !surrogate ? bytes : 0;
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      valid.push_back('?');
      text.remove_prefix(1);
    } else {
      valid.append(text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
  }
  return valid;
}

std::string OneLine(std::string_view text, std::size_t bytes_max) {
  // What is cut off may begin in the middle of a character, and end in one.
  std::string line = ValidUtf8(text.substr(0, bytes_max + kCharacterBytesMax));
  std::size_t end = std::min(line.size(), bytes_max);
  while (end < line.size() && end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) {
    --end;
  }
  line.resize(end);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

std::string EscapeControls(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F: one of them begins a sequence as ESC [ does.
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool two_bytes = byte == 0xc2 && next >= 0x80 && next < 0xa0;
    if (two_bytes) {
      absl::StrAppend(&shown, absl::CEscape(std::string(text.substr(i++, 2))));
    } else if (byte == 0x7f || (byte < 0x20 && byte != '\t')) {
      absl::StrAppend(&shown, absl::CEscape(std::string(1, text[i])));
    } else {
      shown.push_back(text[i]);
    }
  }
  return shown;
}

std::string EscapeControlsInLines(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (true) {
    const std::size_t end = text.find('\n');
    shown.append(EscapeControls(text.substr(0, end)));
    if (end == std::string_view::npos) return shown;
    shown.push_back('\n');
    text.remove_prefix(end + 1);
  }
}

}  // namespace weir
