#pragma once

// The files of a new job's project, as they stand in templates/. Upstream: cmake/EmbedTexts.cmake
// makes the function. Downstream: job_project.h.

#include "absl/types/span.h"

namespace weir::client {

struct EmbeddedText {
  const char* name;  // of the file
  const char* text;
};

/// In names NAME, in texts @NAME@, @CLASS@ and @VERSION@ stand for what differs between projects.
absl::Span<const EmbeddedText> JobTemplates();

}  // namespace weir::client
