#include "jobs/api/bad_record.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/payload_fields.h"

namespace weir {
namespace {
constexpr std::string_view kPayload = "weir/BadRecord";
}  // namespace

BadRecord MakeBadRecord(std::string_view file, std::int64_t byte_offset, std::string_view content,
                        std::string_view reason) {
  return {std::string(file), byte_offset,
          absl::Utf8SafeCEscape(std::string(content.substr(0, kBadRecordShownBytesMax))),
          std::string(reason), /*can_be_left_out=*/true};
}

absl::Status BadRecordError(const BadRecord& record) {
  const std::string place = record.file.empty()
                                ? "result of the layer before"
                                : absl::StrCat(record.file, " at byte ", record.byte_offset);
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat("bad record: ", record.reason, ": '", record.content, "' (", place, ")"));
  AttachFields(status, kPayload,
               {record.file, absl::StrCat(record.byte_offset), record.content, record.reason,
                record.can_be_left_out ? "" : "never"});
  return status;
}

std::optional<BadRecord> BadRecordOf(const absl::Status& status) {
  const auto fields = AttachedFields(status, kPayload, 5);
  BadRecord record;
  if (!fields || !absl::SimpleAtoi((*fields)[1], &record.byte_offset)) return std::nullopt;
  record.file = (*fields)[0];
  record.content = (*fields)[2];
  record.reason = (*fields)[3];
  record.can_be_left_out = (*fields)[4].empty();
  return record;
}

}  // namespace weir
