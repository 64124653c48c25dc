#pragma once

// Man pages from the tree of commands, so that they say what --help says. Pure.
// Upstream: DescribeCommandLine. Downstream: man, by way of `weir man` and packages.

#include <string>

#include "absl/strings/string_view.h"
#include "runtime/client/flags/command_tree.h"

namespace weir::client {

/// Returns the page of the program itself, weir(1): what commands there are, its environment and
/// its exit codes. roff, with the macros of man(7). Checked by: tests/unit/client/man_page_test.cc,
/// tests/integration/install_test.py (groff).
std::string ManPage(const CommandTree& tree, absl::string_view version);

/// Returns the page of one of its commands, weir-COMMAND(1), with those below it ("weir data
/// generate").
std::string ManPageOf(const CommandDescription& command, absl::string_view version);

/// Name of a page's file: "weir.1", "weir-run.1".
std::string ManPageFile(absl::string_view command);

}  // namespace weir::client
