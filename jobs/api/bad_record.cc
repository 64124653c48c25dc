#include "jobs/api/bad_record.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr char kPayload[] = "weir/bad_record";

// Fields are "<length>:<bytes>", so that they may hold any byte.
void AppendField(std::string_view field, std::string& out) {
  absl::StrAppend(&out, field.size(), ":");
  out.append(field);
}

bool TakeField(std::string_view& in, std::string& field) {
  const std::size_t colon = in.find(':');
  std::size_t bytes = 0;
  if (colon == std::string_view::npos ||
      !absl::SimpleAtoi(std::string(in.substr(0, colon)), &bytes)) {
    return false;
  }
  in.remove_prefix(colon + 1);
  if (bytes > in.size()) return false;
  field.assign(in.substr(0, bytes));
  in.remove_prefix(bytes);
  return true;
}

}  // namespace

absl::Status BadRecordError(const BadRecord& record) {
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat("bad record in ", record.file, " at byte ", record.byte_offset, ": ",
                   record.reason, ": '", record.content, "'"));
  std::string payload;
  AppendField(record.file, payload);
  AppendField(absl::StrCat(record.byte_offset), payload);
  AppendField(record.content, payload);
  AppendField(record.reason, payload);
  status.SetPayload(kPayload, absl::Cord(payload));
  return status;
}

std::optional<BadRecord> BadRecordOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload) return std::nullopt;
  const std::string bytes(*payload);
  std::string_view left = bytes;
  BadRecord record;
  std::string offset;
  if (!TakeField(left, record.file) || !TakeField(left, offset) ||
      !TakeField(left, record.content) || !TakeField(left, record.reason) ||
      !absl::SimpleAtoi(offset, &record.byte_offset)) {
    return std::nullopt;
  }
  return record;
}

}  // namespace weir
