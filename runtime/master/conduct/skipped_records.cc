#include "runtime/master/conduct/skipped_records.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

// As many as a status shows on one screen.
constexpr std::size_t kNamedMax = 10;

}  // namespace

std::optional<v1::JobError> SkippedRecords::Add(const v1::StepResult& result) {
  // A job may have a counter of that name; only with records beside it, it is this one.
  if (result.skipped().empty()) return std::nullopt;
  for (const v1::Counter& counter : result.counters()) {
    if (counter.name() == "bad_records") count_ += counter.value();
  }
  for (const v1::SkippedRecord& record : result.skipped()) {
    if (named_.size() < kNamedMax) named_.push_back(record);
  }
  if (count_ <= allowed_) return std::nullopt;
  const v1::SkippedRecord& last = result.skipped(result.skipped_size() - 1);
  v1::JobError error = MakeJobError(
      job_error::kBadRecord,
      absl::StrCat(count_, " bad records, of which ", allowed_,
                   " may be left out; one of them: ", last.reason(), ": '", last.content(), "'"),
      "mend or remove the records, or leave out more with --skip-bad N");
  error.set_file(last.file());
  error.set_byte_offset(last.byte_offset());
  return error;
}

}  // namespace weir::master
