#pragma once

// Shell completion scripts from the tree of commands. Pure.

#include <string>

#include "runtime/client/flags/command_tree.h"
#include "runtime/client/flags/options.h"

namespace weir::client {

/// Returns a script that the shell evaluates: commands, flags with their help, job names, files.
std::string CompletionScript(CompletionOptions::Shell shell, const CommandTree& tree);

}  // namespace weir::client
