#include "runtime/master/conduct/skipped_records.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

// As many as a status shows on one screen.
constexpr std::size_t kNamedMax = 10;

std::int64_t InWords(absl::int128 count) {
  constexpr absl::int128 kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(count, kMost));
}

}  // namespace

v1::JobError SkippedRecords::ErrorAt(const v1::SkippedRecord& record, const std::string& what,
                                     const std::string& advice) {
  v1::JobError error = MakeJobError(
      job_error::kBadRecord,
      absl::StrCat(what, "; one of them: ", record.reason(), ": '", record.content(), "'"), advice);
  error.set_file(record.file());
  error.set_byte_offset(record.byte_offset());
  return error;
}

std::optional<v1::JobError> SkippedRecords::NothingTaken() const {
  if (named_.empty() || sum_.output_records > 0 || sum_.taken_records > 0) return std::nullopt;
  return ErrorAt(named_[0].second,
                 absl::StrCat("all ", InWords(sum_.count), " records were left out as bad"),
                 "is this the right input, and the right format? (weir jobs shows the parameters)");
}

std::optional<v1::JobError> SkippedRecords::Add(const v1::StepResult& result, bool reads_input) {
  OfStep& step = of_step_[result.step()];
  absl::int128 count = 0;
  for (const v1::Counter& counter : result.counters()) {
    // A job may have a counter of that name; only with records beside it, it is this one.
    if (counter.name() == "bad_records" && !result.skipped().empty()) count += counter.value();
  }
  // And adds to it, perhaps. A step that has left out more ends itself, and each is named up to a
  // bound.
  const absl::int128 named = result.skipped_size();
  count = std::clamp(count, named, std::max(named, absl::int128(allowed_)));
  const auto add = [&](OfStep& sum) {
    sum.count += count;
    if (!reads_input) return;
    sum.taken_records += result.input_records() - count;
    sum.output_records += result.output_records();
  };
  add(step);
  add(sum_);
  if (result.skipped().empty()) return std::nullopt;
  for (const v1::SkippedRecord& record : result.skipped()) {
    if (named_.size() < kNamedMax) named_.emplace_back(result.step(), record);
  }
  if (sum_.count <= allowed_) return std::nullopt;
  const v1::SkippedRecord& last = result.skipped(result.skipped_size() - 1);
  return ErrorAt(
      last,
      absl::StrCat(InWords(sum_.count), " bad records, of which ", allowed_, " may be left out"),
      "mend or remove the records, or leave out more with --skip-bad N");
}

void SkippedRecords::Forget(std::int32_t step) {
  const auto it = of_step_.find(step);
  if (it == of_step_.end()) return;
  sum_.count -= it->second.count;
  sum_.taken_records -= it->second.taken_records;
  sum_.output_records -= it->second.output_records;
  of_step_.erase(it);
  std::erase_if(named_, [step](const auto& named) { return named.first == step; });
}

std::vector<v1::SkippedRecord> SkippedRecords::named() const {
  std::vector<v1::SkippedRecord> records;
  for (const auto& [step, record] : named_) records.push_back(record);
  return records;
}

}  // namespace weir::master
