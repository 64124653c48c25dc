#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir::rpc {

/// Checks that a socket can listen on HOST:PORT now.
///
/// Asked before a server is built, so that nothing of gRPC has to be taken down again, and because
/// gRPC does not tell the reason.
/// Errors: kUnavailable, saying whether the address is taken, belongs to another host, is not for
///   this user, or has a name that is not known here. Blocking: resolves the host.
/// Checked by: tests/unit/rpc/listen_probe_test.cc.
absl::Status CheckCanListen(const std::string& address);

}  // namespace weir::rpc
