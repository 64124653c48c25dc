#pragma once

// How the coroutines of the data plane wait. Upstream: data_server.cc, data_socket.cc.

#include "asio/experimental/as_tuple.hpp"
#include "asio/use_awaitable.hpp"

namespace weir::transfer {

/// An error comes as the first value, not as an exception.
inline constexpr auto kAwait = asio::experimental::as_tuple(asio::use_awaitable);

}  // namespace weir::transfer
