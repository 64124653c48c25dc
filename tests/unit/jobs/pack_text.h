#pragma once

// Packs texts as programs do that write gzip and zstd files.

#include <string>
#include <string_view>

#include "jobs/api/program.h"

namespace weir {

/// One member or frame with a checksum. Requires: packing is not kNone.
std::string Pack(Packing packing, std::string_view text, int level = 6);

/// How a frame is written.
struct ZstdForm {
  int level = 3;
  bool checksum = true;
  bool text_bytes = true;  // in its header
  int window_log = 0;      // 0 = as the level says
};
std::string PackZstd(std::string_view text, const ZstdForm& form);

/// A member of gzip that says how large it is, as bgzip writes them. Requires: at most 64 KiB.
std::string PackBgzf(std::string_view text);

/// A frame that holds no text.
std::string SkippableZstd(std::string_view content);

/// ".gz" or ".zst".
const char* EndingOf(Packing packing);

}  // namespace weir
