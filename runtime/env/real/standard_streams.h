#pragma once

namespace weir::env {

/// Opens /dev/null as each of stdin, stdout and stderr that is closed: who starts a program may
/// close them (`2>&-`), and the next socket or pipe would be one of them. Tasks inherit it.
/// A program that links this calls it by itself before its libraries open anything; the call that
/// is made in main has it linked. Where there is no /dev/null, all stays as it was.
/// Checked by: tests/integration/embedded_test.py.
void OpenClosedStreams();

}  // namespace weir::env
