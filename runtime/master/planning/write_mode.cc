#include "runtime/master/planning/write_mode.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/limits.h"

namespace weir::master {

absl::StatusOr<planner::StoreShape> ParseWriteMode(absl::string_view mode) {
  planner::StoreShape store;
  absl::string_view number = mode;
  if (mode.empty() || mode == "parts") return store;
  if (mode == "one") {
    store.write = planner::FinalWrite::kOne;
    return store;
  }
  store.write = planner::FinalWrite::kParallel;
  if (mode == "parallel") return store;
  const bool sound = absl::ConsumePrefix(&number, "parallel:") &&
                     absl::SimpleAtoi(number, &store.channels) && store.channels >= 1 &&
                     store.channels <= limits::kReducersMax;
  if (sound) return store;
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown write mode '", mode.substr(0, 200), "'; modes are: parts (every reducer writes its ",
      "own file), parallel or parallel:N (at most N files at a time, N from 1 to ",
      limits::kReducersMax, "), one (a single file)"));
}

}  // namespace weir::master
