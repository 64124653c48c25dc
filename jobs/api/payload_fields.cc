#include "jobs/api/payload_fields.h"

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"

namespace weir {

void AttachFields(absl::Status& status, std::string_view url,
                  const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) {
    text += absl::CEscape(field);
    text += '\n';
  }
  status.SetPayload(std::string(url), absl::Cord(text));
}

std::optional<std::vector<std::string>> AttachedFields(const absl::Status& status,
                                                       std::string_view url,
                                                       std::size_t num_fields) {
  const auto payload = status.GetPayload(std::string(url));
  if (!payload) return std::nullopt;
  std::vector<std::string> lines = absl::StrSplit(std::string(*payload), '\n');
  if (lines.size() != num_fields + 1) return std::nullopt;  // the last line is empty
  lines.pop_back();
  for (std::string& line : lines) {
    std::string plain;
    if (!absl::CUnescape(line, &plain)) return std::nullopt;
    line = plain;
  }
  return lines;
}

}  // namespace weir
