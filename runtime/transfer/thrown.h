#pragma once

// What is thrown in a coroutine of the data plane, as a status. Nothing of ours throws; memory that
// is not there does. Upstream: data_server.cc, fetcher.cc: nobody hears of what leaves a coroutine
// that is spawned, so that whoever waits for it would do so for ever.

#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "asio/awaitable.hpp"
#include "runtime/base/errno_status.h"

namespace weir::transfer {

/// Returns the exception that is being handled as a status.
///
/// Requires: to be called while one is (catch).
/// Returns: the ErrnoStatus of ENOMEM for std::bad_alloc, by which a worker knows that the fault is
///   its own; else kInternal.
/// Thread-safety: pure.
/// Checked by: tests/unit/transfer/short_of_memory_test.cc.
inline absl::Status StatusOfThrown(std::string_view doing) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return ErrnoStatus(ENOMEM, doing);
  } catch (const std::exception& thrown) {
    return absl::InternalError(std::string(doing) + ": " + thrown.what());
  } catch (...) {
    return absl::InternalError(std::string(doing) + ": something was thrown");
  }
}

/// Returns what `work` does, or, where it throws, StatusOfThrown.
inline asio::awaitable<absl::Status> CatchThrown(asio::awaitable<absl::Status> work,
                                                 std::string_view doing) {
  absl::Status status;
  try {
    status = co_await std::move(work);
  } catch (...) {
    status = StatusOfThrown(doing);
  }
  co_return status;
}

}  // namespace weir::transfer
