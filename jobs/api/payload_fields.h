#pragma once

// Text fields as one payload of a Status. Upstream: bad_record.cc, step_error.cc.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace weir {

/// Attaches the fields under `url`, one escaped line each.
void AttachFields(absl::Status& status, std::string_view url,
                  const std::vector<std::string>& fields);

/// Returns the fields attached under `url`; nothing unless there are exactly `num_fields`.
std::optional<std::vector<std::string>> AttachedFields(const absl::Status& status,
                                                       std::string_view url,
                                                       std::size_t num_fields);

}  // namespace weir
