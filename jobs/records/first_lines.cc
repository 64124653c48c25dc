#include "jobs/records/first_lines.h"

#include <cstdint>
#include <iterator>
#include <set>

#include "jobs/api/part_lines.h"
#include "jobs/records/parameters.h"

namespace weir {

void AddShowParameter(std::vector<ParameterInfo>& parameters) {
  parameters.push_back(
      IntegerParameter("show", 10, 0, 1'000'000, "print so many of the first lines of the result"));
}

absl::Status PresentFirstLines(
    absl::Span<const std::string> part_paths, const ParameterValues& values,
    const std::function<bool(std::string_view, std::string_view)>& before, std::ostream& out) {
  const std::int64_t most = IntegerOf(values, "show");
  if (most == 0) return absl::OkStatus();
  std::multiset<std::string, std::function<bool(std::string_view, std::string_view)>> first(before);
  absl::Status status = VisitPartLines(part_paths, [&](std::string_view line) {
    if (static_cast<std::int64_t>(first.size()) == most) {
      if (!before(line, *first.rbegin())) return absl::OkStatus();
      first.erase(std::prev(first.end()));
    }
    first.emplace(line);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  for (const std::string& line : first) out << line << '\n';
  return absl::OkStatus();
}

}  // namespace weir
