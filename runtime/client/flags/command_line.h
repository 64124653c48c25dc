#pragma once

// From words on the command line to a checked Command. Upstream: main. Downstream: commands.

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/client/flags/command_tree.h"
#include "runtime/client/flags/options.h"
#include "runtime/client/flags/streaming_words.h"

namespace weir::client {

/// Either a command, or what to print and how to exit: help on stdout with 0, a sentence about the
/// misuse on stderr with 2 (with --json also as a document on stdout).
struct ParsedCommandLine {
  std::optional<Command> command;
  std::string out;
  std::string err;
  int exit_code = 0;
};

/// Reads the words after the program's name.
///
/// A wrong word is answered with the nearest right one. WEIR_MASTER, WEIR_WORK_DIR and
/// WEIR_JOURNAL stand in for flags that are not given.
ParsedCommandLine ParseCommandLine(const std::vector<std::string>& words);

/// Parses the words behind `weir streaming`; what options name goes through `place_of`. `output`,
/// unless null, gets the output as it was given.
ParsedCommandLine ParseStreamingWords(absl::Span<const std::string> words,
                                      const PlaceOf& place_of = PlaceWithoutScheme,
                                      std::string* output = nullptr);

/// Why flags of the cluster inside this process are refused beside a master, whose workers have
/// their own; empty where there is no master, or no such flag.
std::string FlagsWithoutUse(const EmbeddedOptions& embedded, const MasterAddress& master);

/// Returns all commands and flags, for man pages and shell completion. `job_names` complete the
/// argument JOB.
CommandTree DescribeCommandLine(const std::vector<std::string>& job_names);

}  // namespace weir::client
