#pragma once

// A run opened for one request. Upstream: DataServer. Downstream: RunCatalog and the run's file.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/fd.h"
#include "runtime/transfer/run_catalog.h"
#include "weir/v1/transfer.pb.h"

namespace weir::transfer {

struct RunSource {
  Fd file;
  v1::DataRequest request;
  bool probe = false;
};

/// Opens the run that is asked for. OK means that the asker has shown the job's token.
/// Errors: of RunCatalog::Find; kOutOfRange; kInvalidArgument (credit below one frame); kNotFound
///   (the file was removed); kResourceExhausted (descriptors, memory); kDataLoss (its disk fails).
absl::StatusOr<RunSource> OpenRun(const RunCatalog& catalog, v1::DataRequest request);

/// Returns the XXH3 of a range of the run, read through `piece`.
/// Errors: kDataLoss (the file ends early, or its disk fails); the message names the run.
absl::StatusOr<std::uint64_t> ChecksumOf(const RunSource& source, std::int64_t offset,
                                         std::int64_t bytes, std::uint64_t seed,
                                         std::vector<char>& piece);

}  // namespace weir::transfer
