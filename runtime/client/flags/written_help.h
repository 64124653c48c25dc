#pragma once

// A help that was written by hand, as data. Upstream: streaming_words.h (StreamingHelp).
// Downstream: command_line.h, for completion and man pages.

#include "absl/strings/string_view.h"
#include "runtime/client/flags/command_tree.h"

namespace weir::client {

/// Puts flags and footer of a help into `command`, whose own ones are replaced.
///
/// The help has a line on what the command does, one "Usage: ...", an empty one; then flags,
/// "  -name VALUE  text", two blanks or more before the text, which may go on in lines that are
/// indented further; behind the next empty line all is the footer. A flag stands without brackets
/// in the usage where it has to be given.
/// Checked by: tests/unit/client/man_page_test.cc (every flag of --help), command_line_test.cc.
void DescribeWrittenHelp(absl::string_view help, CommandDescription& command);

}  // namespace weir::client
