#pragma once

// Commands and flags as data. Upstream: command_line.h. Downstream: completion.h.

#include <string>
#include <vector>

namespace weir::client {

struct FlagDescription {
  std::vector<std::string> names;  // "-o", "--output"
  std::string help;
  bool takes_value = false;
};

struct CommandDescription {
  std::string name;
  std::string help;
  std::vector<FlagDescription> flags;
  std::vector<CommandDescription> commands;
  /// Words that the first argument may be (jobs, shells); empty = files.
  std::vector<std::string> first_argument;
};

using CommandTree = CommandDescription;

}  // namespace weir::client
