#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

/// Returns `text` with '?' in place of each byte that belongs to no whole UTF-8 character.
///
/// Protobuf refuses to parse a `string` field that is not UTF-8, so text of users, file names and
/// text that was cut must pass here before it goes into a message.
/// Checked by: tests/unit/base/valid_utf8_test.cc.
std::string ValidUtf8(std::string_view text);

/// The same, with a blank in place of each control character, and without the characters that lie
/// beyond `bytes_max`: fit for a line that people read.
std::string OneLine(std::string_view text, std::size_t bytes_max);

/// Returns `text` with each control character but the tab as C writes it (`\033`, `\n`), and all
/// else as it is: what users wrote must not steer the terminal of who reads it.
std::string EscapeControls(std::string_view text);

/// The same of each line of a text, whose newlines stay.
std::string EscapeControlsInLines(std::string_view text);

}  // namespace weir
