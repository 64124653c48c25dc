#pragma once

// What a person can do about a file that failed. Upstream: whoever makes an error for people of an
// errno.

#include <string_view>

namespace weir {

/// A phrase that follows a semicolon; empty where there is no advice better than the reason itself.
std::string_view AdviceForErrno(int error_number);

}  // namespace weir
