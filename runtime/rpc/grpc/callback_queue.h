#pragma once

namespace weir::rpc {

/// Keeps gRPC's callback queue and its threads for the life of the process.
///
/// Channels and servers share the queue by reference count; when the last one goes, gRPC 1.51 takes
/// it down and now and then frees it twice (seen under AddressSanitizer in tests that open and
/// close servers, docs/bug_ledger.md). Call before the first channel or server. Thread-safe; only
/// the first call does anything.
void KeepCallbackQueue();

}  // namespace weir::rpc
