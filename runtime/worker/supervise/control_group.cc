#include "runtime/worker/supervise/control_group.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/fd.h"

namespace weir::worker {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup";
// Version 1 writes "no limit" as the greatest multiple of a page.
constexpr std::int64_t kNoLimitBytes = std::int64_t{1} << 60;

std::optional<std::int64_t> ReadNumber(const ReadSmallFile& read, const std::string& path) {
  const auto text = read(path);
  std::int64_t number = 0;
  if (!text || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &number)) return std::nullopt;
  return number;
}

// The number behind `name` in a file of lines "name number"; 0 when it is not there.
std::int64_t NumberOf(const ReadSmallFile& read, const std::string& path, absl::string_view name) {
  const auto text = read(path);
  if (!text) return 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(line, ' ');
    std::int64_t number = 0;
    if (words.first == name && absl::SimpleAtoi(words.second, &number)) return number;
  }
  return 0;
}

std::optional<GroupMemory> MemoryOf(const ControlGroup& group, const ReadSmallFile& read) {
  const bool one = group.version_one;
  const auto file = [&](const char* name) { return absl::StrCat(group.directory, "/", name); };
  const auto limit = ReadNumber(read, file(one ? "memory.limit_in_bytes" : "memory.max"));
  if (!limit || *limit >= kNoLimitBytes) return std::nullopt;
  const std::int64_t used =
      ReadNumber(read, file(one ? "memory.usage_in_bytes" : "memory.current")).value_or(0);
  const std::string stat = file("memory.stat");
  const std::int64_t cache = NumberOf(read, stat, one ? "total_inactive_file" : "inactive_file") +
                             NumberOf(read, stat, one ? "total_active_file" : "active_file");
  const std::int64_t held = std::max<std::int64_t>(0, used - cache);
  return GroupMemory{group.directory, *limit, std::max<std::int64_t>(0, *limit - held)};
}

}  // namespace

std::optional<std::string> ReadKernelFile(const std::string& path) {
  constexpr std::size_t kBytesMax = 64 << 10;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  std::string text(kBytesMax, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + filled, text.size() - filled);
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

std::vector<ControlGroup> ControlGroupsOf(absl::string_view controller, const ReadSmallFile& read) {
  std::vector<ControlGroup> groups;
  const auto lines = read("/proc/self/cgroup");
  if (!lines) return groups;
  for (const absl::string_view line : absl::StrSplit(*lines, '\n', absl::SkipEmpty())) {
    // number:controllers:path; version 2 names no controllers.
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    const bool one = absl::c_linear_search(controllers, controller);
    if (!one && !fields[1].empty()) continue;
    const std::string mount = one ? absl::StrCat(kRoot, "/", fields[1]) : std::string(kRoot);
    std::string path = fields[2] == "/" ? "" : fields[2];
    while (true) {
      groups.push_back({absl::StrCat(mount, path), one});
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return groups;
}

std::optional<GroupMemory> ControlGroupMemory(const ReadSmallFile& read) {
  std::optional<GroupMemory> least;
  for (const ControlGroup& group : ControlGroupsOf("memory", read)) {
    const auto memory = MemoryOf(group, read);
    if (!memory) continue;
    if (!least) least = memory;
    // The least limit may be of one group, and the least that is left of another.
    if (memory->limit_bytes < least->limit_bytes) {
      least->group = memory->group;
      least->limit_bytes = memory->limit_bytes;
    }
    least->available_bytes = std::min(least->available_bytes, memory->available_bytes);
  }
  return least;
}

OomKills CountOomKills(const ReadSmallFile& read) {
  OomKills kills;
  for (const ControlGroup& group : ControlGroupsOf("memory", read)) {
    // Version 2 counts for the groups above as well: the most is the number.
    const char* const file = group.version_one ? "/memory.oom_control" : "/memory.events";
    kills.in_group =
        std::max(kills.in_group, NumberOf(read, absl::StrCat(group.directory, file), "oom_kill"));
  }
  kills.on_machine = NumberOf(read, "/proc/vmstat", "oom_kill");
  return kills;
}

}  // namespace weir::worker
