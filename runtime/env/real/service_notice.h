#pragma once

// What the service manager that started a daemon hears of it. Upstream: runtime/app. Downstream:
// systemd.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir::env {

/// Tells a service manager what becomes of this process: `state` is lines such as "READY=1".
///
/// `socket` is what the manager put into NOTIFY_SOCKET: a path, or "@name" for one without a file;
/// empty: nobody wants to know, and nothing is done.
/// Returns/Errors: kInvalidArgument for an address that can be none; else those of ErrnoStatus. A
///   daemon is none the worse for them.
/// Thread-safety: any thread. Blocking: never, also where the manager does not read.
/// Source: sd_notify(3). Checked by: tests/unit/env/service_notice_test.cc.
absl::Status TellServiceManager(const std::string& socket, absl::string_view state);

}  // namespace weir::env
