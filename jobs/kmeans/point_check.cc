#include "jobs/kmeans/point_check.h"

#include <xxhash.h>

#include "absl/strings/str_cat.h"

namespace weir::kmeans {

absl::Status PointCheck::Add(std::string_view bytes) {
  if (order_ == DataOrder::kByKey) {
    return absl::InvalidArgumentError("rows of kmeans have no key that they could be ordered by");
  }
  bytes_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    begun_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) return absl::OkStatus();
    sum_ += XXH3_64bits(begun_.data(), begun_.size());
    ++records_;
    begun_.clear();
    bytes.remove_prefix(end + 1);
  }
  return absl::OkStatus();
}

absl::Status PointCheck::EndFile() {
  if (begun_.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, " ends within row ", records_));
}

DataSummary PointCheck::Summary() const {
  DataSummary summary;
  summary.records = records_;
  summary.bytes = bytes_;
  summary.checksum = absl::StrCat(absl::Hex(sum_, absl::kZeroPad16));
  return summary;
}

}  // namespace weir::kmeans
