#pragma once

// Opens the port of a data server. Upstream: DataServer. Downstream: the kernel.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "asio/ip/tcp.hpp"

namespace weir::transfer {

/// Listens on a numeric address; port 0 = any free one. Returns "host:port" for peers.
/// Errors: kInvalidArgument (address), else the errno of bind; all name the address.
absl::StatusOr<std::string> Listen(asio::ip::tcp::acceptor& acceptor, const std::string& host,
                                   std::uint16_t port);

}  // namespace weir::transfer
