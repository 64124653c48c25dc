#include "runtime/base/run_id.h"

#include "absl/strings/str_cat.h"

namespace weir {

std::string RunIdOf(int step, int attempt) { return absl::StrCat(step, ".", attempt); }

std::string SpillPrefixOf(int step, int attempt) {
  return absl::StrCat("spill-", step, "-", attempt, "-");
}

}  // namespace weir
