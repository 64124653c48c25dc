#pragma once

// The options of Hadoop Streaming as a command line of `weir run stream`. Pure. Upstream:
// command_line.h. Downstream: the flags of `weir run`.

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weir::client {

/// What `weir streaming` was asked for.
struct StreamingWords {
  std::vector<std::string> run;  // "run", "stream", ...
  bool help = false;             // -help or -info: nothing else counts
  std::string output;            // as it was given
  std::size_t num_inputs = 0;    // of -input; `weir run` must find no others
  /// An empty file _SUCCESS shall stand beside the parts.
  bool mark_success = true;
};

/// Makes a path of what an option names. An error refuses the words.
using PlaceOf = std::function<absl::StatusOr<std::string>(const std::string&)>;

/// A path as it is; file:/x, file:///x: the path.
absl::StatusOr<std::string> PlaceWithoutScheme(const std::string& word);

/// Reads the words behind `weir streaming`: Hadoop's options with one '-', flags of `weir run` with
/// two. Options that Weir does not have are refused, never ignored.
/// Errors: kInvalidArgument naming the option, with the nearest one or the reason.
/// Checked by: tests/unit/client/streaming_words_test.cc.
absl::StatusOr<StreamingWords> ReadStreamingWords(absl::Span<const std::string> words,
                                                  const PlaceOf& place_of = PlaceWithoutScheme);

/// What `weir streaming -help` prints.
std::string StreamingHelp();

}  // namespace weir::client
