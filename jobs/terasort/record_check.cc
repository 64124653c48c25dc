#include "jobs/terasort/record_check.h"

#include <xxhash.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "jobs/terasort/sort_records.h"

namespace weir::terasort {

void RecordCheck::BeginFile(std::string_view path) {
  path_ = path;
  records_of_file_ = 0;
}

absl::Status RecordCheck::Add(std::string_view bytes) {
  if (!begun_.empty()) {
    const std::size_t missing = std::min(kRecordBytes - begun_.size(), bytes.size());
    begun_.append(bytes.substr(0, missing));
    bytes.remove_prefix(missing);
    if (begun_.size() < kRecordBytes) return absl::OkStatus();
    const std::string whole = std::move(begun_);
    begun_.clear();
    if (absl::Status status = AddRecord(whole); !status.ok()) return status;
  }
  for (; bytes.size() >= kRecordBytes; bytes.remove_prefix(kRecordBytes)) {
    if (absl::Status status = AddRecord(bytes.substr(0, kRecordBytes)); !status.ok()) return status;
  }
  begun_ = bytes;
  return absl::OkStatus();
}

absl::Status RecordCheck::EndFile() {
  if (begun_.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path_, ": ends after ", begun_.size(), " of the ", kRecordBytes,
                   " bytes of record ", records_of_file_, " (at byte ",
                   records_of_file_ * static_cast<std::int64_t>(kRecordBytes), ")"));
}

absl::Status RecordCheck::AddRecord(std::string_view record) {
  const std::string_view key = record.substr(0, kKeyBytes);
  if (records_ > 0 && key == last_key_) ++repeated_keys_;
  if (records_ > 0 && key < last_key_ && order_ == DataOrder::kByKey) {
    const auto hex = [](std::string_view bytes) {
      return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
    };
    return absl::DataLossError(
        absl::StrCat(path_, ": record ", records_of_file_, " (at byte ",
                     records_of_file_ * static_cast<std::int64_t>(kRecordBytes), ") has key ",
                     hex(key), ", less than ", hex(last_key_), " of the record before it",
                     records_of_file_ == 0 ? absl::StrCat(", the last of ", last_path_) : ""));
  }
  last_key_ = key;
  if (records_of_file_ == 0) last_path_ = path_;
  const XXH128_hash_t hash = XXH3_128bits(record.data(), record.size());
  sum_ += static_cast<Sum>(hash.high64) << 64 | hash.low64;
  ++records_;
  ++records_of_file_;
  return absl::OkStatus();
}

DataSummary RecordCheck::Summary() const {
  return {records_, records_ * static_cast<std::int64_t>(kRecordBytes), repeated_keys_,
          absl::StrCat(absl::Hex(static_cast<std::uint64_t>(sum_ >> 64), absl::kZeroPad16),
                       absl::Hex(static_cast<std::uint64_t>(sum_), absl::kZeroPad16))};
}

}  // namespace weir::terasort
