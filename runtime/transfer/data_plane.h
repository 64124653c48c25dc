#pragma once

// Makes the two halves of the data plane over TCP. Upstream: runtime/app brings the executor (its
// transfer threads). Downstream: runtime/worker sees only DataServer and Fetcher.

#include <memory>

#include "absl/status/statusor.h"
#include "asio/any_io_executor.hpp"
#include "runtime/env/event_loop.h"
#include "runtime/transfer/data_server.h"
#include "runtime/transfer/fetcher.h"
#include "runtime/transfer/run_catalog.h"

namespace weir::transfer {

/// Opens the listener at once and serves on `executor`.
///
/// Requires: `loop` (only its Now is used) outlives whatever runs on `executor`; the process
/// ignores
///   SIGPIPE (sendfile raises it when a peer has gone).
/// Ownership: destroying the server closes it; what is still queued on `executor` keeps its own
///   share of the state.
/// Errors: kInvalidArgument (address), else the errno of bind, naming the address.
absl::StatusOr<std::unique_ptr<DataServer>> MakeDataServer(
    asio::any_io_executor executor, std::shared_ptr<const RunCatalog> catalog,
    const env::EventLoop& loop, DataServerOptions options);

/// Starts the thread in which Asio looks names of peers up for all that runs on `executor`.
///
/// It would be made for the first name, in the middle of a coroutine, where the want of a thread
/// ends the process, with all that it has under way.
/// Failure semantics: throws std::system_error where no thread is to be had.
/// Checked by: tests/unit/transfer/data_socket_test.cc
///   (NamesAreLookedUpInAThreadThatWasThereBefore).
void StartLookups(const asio::any_io_executor& executor);

/// Requires: `loop` outlives whatever runs on `executor`. Callbacks are posted to it.
/// Ownership: destroying the fetcher closes it; callbacks of what it broke off still come.
std::unique_ptr<Fetcher> MakeFetcher(asio::any_io_executor executor, env::EventLoop& loop,
                                     FetcherOptions options);

}  // namespace weir::transfer
