#pragma once

// Shell completion scripts from the tree of commands. Pure.

#include <string>

#include "runtime/client/command_tree.h"
#include "runtime/client/options.h"

namespace weir::client {

/// Returns a script that the shell evaluates: commands, flags with their help, job names, files.
std::string CompletionScript(CompletionOptions::Shell shell, const CommandTree& tree);

}  // namespace weir::client
