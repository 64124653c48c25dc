#include "runtime/client/flags/written_help.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir::client {
namespace {

// "-input PATH...       files, directories": the value is what stands before the first gap.
FlagDescription FlagOf(absl::string_view line, absl::string_view usage) {
  const absl::string_view head = line.substr(0, line.find("  "));
  const absl::string_view name = head.substr(0, head.find(' '));
  FlagDescription flag;
  flag.names.emplace_back(name);
  flag.value = std::string(absl::StripAsciiWhitespace(head.substr(name.size())));
  flag.takes_value = !flag.value.empty();
  flag.help = std::string(absl::StripAsciiWhitespace(line.substr(head.size())));
  flag.heading = "Options";
  flag.required = absl::StrContains(usage, absl::StrCat(" ", name, " "));
  return flag;
}

}  // namespace

void DescribeWrittenHelp(absl::string_view help, CommandDescription& command) {
  command.flags.clear();
  command.footer.clear();
  absl::string_view usage;
  int gaps = 0;
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    if (gaps < 2 && line.empty()) {
      ++gaps;
    } else if (gaps == 0) {
      if (absl::StartsWith(line, "Usage:")) usage = line;
    } else if (gaps == 2) {
      absl::StrAppend(&command.footer, line, "\n");
    } else if (absl::StartsWith(line, "  -")) {
      command.flags.push_back(FlagOf(line.substr(2), usage));
    } else if (!command.flags.empty()) {
      absl::StrAppend(&command.flags.back().help, " ", absl::StripAsciiWhitespace(line));
    }
  }
}

}  // namespace weir::client
