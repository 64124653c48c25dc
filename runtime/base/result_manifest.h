#pragma once

// How a manifest, which says what a job published, is told from other files of its name. Pure.
// Upstream: names and bytes of files. Downstream: whoever reads directories that may be results.

#include <cstdint>
#include <string_view>

namespace weir {

inline constexpr char kManifestName[] = "manifest.json";

/// Bytes of a file that BeginsAsManifest needs.
inline constexpr std::int64_t kManifestBeginBytes = 4096;

/// Tells the manifests of Weir by how they begin, also those that are damaged further on or of
/// another schema; `text` is the first kManifestBeginBytes of a file, or all of it.
/// Checked by: tests/unit/master/manifest_test.cc.
inline bool BeginsAsManifest(std::string_view text) {
  // As the master's ManifestText writes its first members, which are in order of their names. The
  // name of a job may be as long as its author likes it, but not that long.
  return text.starts_with("{\n  \"job\": \"") &&
         text.find("\n  \"job_id\": \"") != std::string_view::npos;
}

}  // namespace weir
