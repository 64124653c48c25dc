#include "jobs/records/csv_check.h"

#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"

namespace weir {

void CsvCheck::BeginFile(std::string_view path) {
  path_ = path;
  file_bytes_ = 0;
  file_rows_ = 0;
}

absl::Status CsvCheck::Add(std::string_view bytes) {
  while (true) {
    const std::size_t newline = bytes.find('\n');
    if (newline == std::string_view::npos) break;
    absl::Status status;
    if (begun_.empty()) {
      status = AddRow(bytes.substr(0, newline));
    } else {
      begun_.append(bytes.substr(0, newline));
      status = AddRow(begun_);
      begun_.clear();
    }
    if (!status.ok()) return status;
    bytes.remove_prefix(newline + 1);
  }
  begun_.append(bytes);
  if (static_cast<std::int64_t>(begun_.size()) > kRecordBytesMax) {
    return Wrong("is longer than 64 MiB");
  }
  return absl::OkStatus();
}

absl::Status CsvCheck::EndFile() {
  if (begun_.empty()) return absl::OkStatus();
  const absl::Status status = Wrong("has no newline at its end");
  begun_.clear();
  return status;
}

absl::Status CsvCheck::AddRow(std::string_view row) {
  if (!reader_.Split(row)) return Wrong("is not a CSV row");
  const auto& fields = reader_.row().fields;
  if (fields.size() != num_columns_) {
    return Wrong(absl::StrCat("has ", fields.size(), " fields instead of ", num_columns_));
  }
  if (summary_.records > 0 && fields[0] == last_key_) ++summary_.repeated_keys;
  if (order_ == DataOrder::kByKey && summary_.records > 0 && fields[0] < last_key_) {
    return Wrong(absl::StrCat("has key '", std::string(fields[0]), "', less than '", last_key_,
                              "' of the row before it"));
  }
  last_key_ = fields[0];
  const XXH128_hash_t hash = XXH3_128bits(row.data(), row.size());
  sum_ += static_cast<Sum>(hash.high64) << 64 | hash.low64;
  const auto row_bytes = static_cast<std::int64_t>(row.size()) + 1;
  ++summary_.records;
  summary_.bytes += row_bytes;
  ++file_rows_;
  file_bytes_ += row_bytes;
  return absl::OkStatus();
}

absl::Status CsvCheck::Wrong(std::string_view what) const {
  return absl::DataLossError(absl::StrCat(path_, ": row ", file_rows_, " (at byte ", file_bytes_,
                                          ") ", std::string(what)));
}

DataSummary CsvCheck::Summary() const {
  DataSummary summary = summary_;
  summary.checksum =
      absl::StrCat(absl::Hex(static_cast<std::uint64_t>(sum_ >> 64), absl::kZeroPad16),
                   absl::Hex(static_cast<std::uint64_t>(sum_), absl::kZeroPad16));
  return summary;
}

}  // namespace weir
