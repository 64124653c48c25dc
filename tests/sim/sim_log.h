#pragma once

#include <cstdint>

namespace weir::sim {

/// How many ERROR lines there were since the program started.
std::int64_t ErrorsLogged();

}  // namespace weir::sim
