#pragma once

// How a rejected record travels inside a Status. Upstream: readers and jobs. Downstream: the task
// turns it into the named error BAD_RECORD with file and offset.

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "jobs/api/program.h"

namespace weir {

/// Longest record a reader accepts. Longer ones are rejected, because a record is held in memory
/// whole.
inline constexpr std::int64_t kRecordBytesMax = 64 << 20;

/// Bytes of a rejected record that an error shows.
inline constexpr std::int64_t kBadRecordShownBytesMax = 200;

/// Describes the record at `byte_offset` of `file`; keeps the first kBadRecordShownBytesMax bytes
/// of `content`, escaped.
BadRecord MakeBadRecord(std::string_view file, std::int64_t byte_offset, std::string_view content,
                        std::string_view reason);

/// Returns kInvalidArgument with the record as payload; the message names reason, file and offset.
absl::Status BadRecordError(const BadRecord& record);

/// Returns the record that BadRecordError attached.
std::optional<BadRecord> BadRecordOf(const absl::Status& status);

}  // namespace weir
