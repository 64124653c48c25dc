#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// Bytes readable behind the last record of a block (their content means nothing), so that vector
/// loads need no care at the end.
inline constexpr std::int64_t kBlockSlackBytes = 64;

/// Whole records of one input file, in order. Each ends with a delimiter; the reader adds one where
/// the file ends without. Valid until the next block; perhaps the page cache itself, so never
/// written to.
struct TextBlock {
  const char* data = nullptr;
  std::int64_t bytes = 0;
  std::int64_t file_offset = 0;  // of data[0]
  const std::string* path = nullptr;
  bool stays = false;  // where it is, until what read it goes

  std::string_view text() const { return {data, static_cast<std::size_t>(bytes)}; }
};

}  // namespace weir
