#include "runtime/task/key_ends.h"

#include "absl/strings/str_cat.h"

namespace weir::task {

absl::StatusOr<std::vector<double>> KeyEnds(const v1::StepOrder& order) {
  std::vector<double> ends;
  double last = 0;
  for (const v1::StepConsumer& consumer : order.consumers()) {
    const double end = consumer.keys().end();
    if (!consumer.has_keys() || !(end >= last && end <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the key ranges of consumers must rise from 0 to 1; ", end, " follows ",
                       last, " at step ", consumer.step()));
    }
    last = end;
    ends.push_back(end);
  }
  if (last != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key ranges of the consumers end at ", last, ", not at 1"));
  }
  return ends;
}

}  // namespace weir::task
