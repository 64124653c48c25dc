#pragma once

// A job whose shuffle is exactly what an experiment asks for: bytes for each pair, and when each
// mapper is ready. Upstream: lab_main. Downstream: the laboratory's runner, which reads the parts.

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::netlab {

/// Bytes of one record of the input.
inline constexpr std::int64_t kRecordBytes = 512;
/// A section holds nothing, or at least this much.
inline constexpr std::int64_t kSectionBytesMin = 64;

/// Job "blobs". The input is a sequence of records of kRecordBytes, one a mapper: words in decimal,
/// padded with spaces and ended by a newline: milliseconds after which the step ends (it sleeps
/// for what writing leaves of them), then the stored bytes of its section for each consumer.
/// Reducers check every block for its origin and write one line a section: consumer, place of the
/// mapper's record, stored bytes, blocks.
std::unique_ptr<JobDefinition> MakeBlobs();

}  // namespace weir::netlab
