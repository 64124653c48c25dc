#include "jobs/stream/contract/reporter_line.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::stream {
namespace {

constexpr std::string_view kCounter = "counter:";
constexpr std::string_view kStatus = "status:";

std::string Trimmed(std::string_view text) {
  return std::string(absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size())));
}

}  // namespace

ReporterLine ReadReporterLine(std::string_view line, std::string_view prefix) {
  ReporterLine read;
  if (!line.starts_with(prefix)) return read;
  line.remove_prefix(prefix.size());
  read.kind = ReporterLine::Kind::kBroken;
  if (line.starts_with(kStatus)) {
    read.kind = ReporterLine::Kind::kStatus;
    read.text = Trimmed(line.substr(kStatus.size()));
  } else if (line.starts_with(kCounter)) {
    const std::vector<std::string> fields =
        absl::StrSplit(Trimmed(line.substr(kCounter.size())), ',');
    // SimpleAtoi would take blanks around the number.
    if (fields.size() == 3 && fields[2] == Trimmed(fields[2]) &&
        absl::SimpleAtoi(fields[2], &read.value)) {
      read.kind = ReporterLine::Kind::kCounter;
      read.name = absl::StrCat(fields[0], ",", fields[1]);
    }
  }
  return read;
}

}  // namespace weir::stream
