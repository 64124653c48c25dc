#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Returns `text` with '?' in place of each byte that belongs to no whole UTF-8 character.
///
/// Protobuf refuses to parse a `string` field that is not UTF-8, so text of users, file names and
/// text that was cut must pass here before it goes into a message.
/// Checked by: tests/unit/base/valid_utf8_test.cc.
std::string ValidUtf8(std::string_view text);

}  // namespace weir
