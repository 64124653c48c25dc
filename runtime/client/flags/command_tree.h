#pragma once

// Commands and flags as data. Upstream: command_line.h. Downstream: completion.h, man_page.h.

#include <string>
#include <vector>

namespace weir::client {

struct FlagDescription {
  std::vector<std::string> names;  // "-o", "--output"
  std::string help;
  bool takes_value = false;
  std::string value;        // "FILE"; empty where none is taken
  std::string legal;        // "1 - 1024", "text,json"; empty where the help says it
  std::string environment;  // variable that stands in for the flag; empty = none
  std::string heading;      // under which it is listed
  bool required = false;
};

/// A word that is told from others by its place.
struct ArgumentDescription {
  std::string name;
  std::string help;
  bool required = false;
  bool repeated = false;
};

struct CommandDescription {
  std::string name;
  std::string help;
  /// What stands below the flags: sentences, and examples after a line "Examples:".
  std::string footer;
  std::string heading;  // under which it is listed
  std::vector<FlagDescription> flags;
  std::vector<ArgumentDescription> arguments;
  std::vector<CommandDescription> commands;
  /// Words that the first argument may be (jobs, shells); empty = files.
  std::vector<std::string> first_argument;
};

using CommandTree = CommandDescription;

}  // namespace weir::client
