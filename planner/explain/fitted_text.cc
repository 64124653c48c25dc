#include "planner/explain/fitted_text.h"

#include "absl/strings/str_cat.h"

namespace weir::planner {
namespace {

// Length in bytes of the valid UTF-8 sequence at the beginning of `text` (not empty); 0 when there
// is none.
std::size_t SequenceLength(absl::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

std::string XmlText(absl::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = SequenceLength(text.substr(i));
    if (length == 0 || byte < 0x20) {
      out += '?';
    } else if (length > 1) {
      out.append(text.substr(i, length).data(), length);
      i += length - 1;
    } else if (byte == '&') {
      out += "&amp;";
    } else if (byte == '<') {
      out += "&lt;";
    } else if (byte == '>') {
      out += "&gt;";
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string Fitted(absl::string_view text, std::size_t chars_max) {
  if (text.size() <= chars_max) return std::string(text);
  std::size_t kept = chars_max - 2;
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80) --kept;
  return absl::StrCat(text.substr(0, kept), "..");
}

}  // namespace weir::planner
