#include "runtime/worker/supervise/thread_signs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/fd.h"

namespace weir::worker {
namespace {

// Files of /proc that fit here: a line of stat, and a list of children of which the rest is left
// out.
std::string ReadProcFile(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  std::string text(4096, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::vector<int> ThreadIds(pid_t process) {
  std::vector<int> ids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(
      ::opendir(absl::StrCat("/proc/", process, "/task").c_str()), &::closedir);
  if (directory == nullptr) return ids;
  while (const dirent* entry = ::readdir(directory.get())) {
    int id = 0;
    if (absl::SimpleAtoi(entry->d_name, &id)) ids.push_back(id);
  }
  return ids;
}

}  // namespace

std::vector<ThreadSign> ReadThreadSigns(pid_t task) {
  static const long ticks_per_s = ::sysconf(_SC_CLK_TCK);
  std::vector<ThreadSign> signs;
  std::vector<pid_t> processes = {task};
  int seen = 0;
  // The list grows while it is walked.
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (const int id : ThreadIds(processes[i])) {
      if (++seen > kThreadsMax) return signs;
      const std::string thread = absl::StrCat("/proc/", processes[i], "/task/", id);
      const auto sign = ParseThreadStat(ReadProcFile(thread + "/stat"), ticks_per_s);
      if (sign && id != task) signs.push_back(*sign);
      const std::string children = ReadProcFile(thread + "/children");
      for (const absl::string_view word : absl::StrSplit(children, ' ', absl::SkipEmpty())) {
        pid_t child = 0;
        if (absl::SimpleAtoi(word, &child)) processes.push_back(child);
      }
    }
  }
  return signs;
}

std::optional<ThreadSign> ParseThreadStat(absl::string_view stat, long ticks_per_s) {
  // id (name) state ... - the name may hold anything, the last parenthesis ends it.
  const std::size_t open = stat.find(" (");
  const std::size_t close = stat.rfind(") ");
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> fields = absl::StrSplit(stat.substr(close + 2), ' ');
  constexpr std::size_t kState = 0;
  constexpr std::size_t kUserTicks = 11;
  constexpr std::size_t kSystemTicks = 12;
  ThreadSign sign;
  std::int64_t user = 0;
  std::int64_t system = 0;
  if (fields.size() <= kSystemTicks || ticks_per_s <= 0 ||
      !absl::SimpleAtoi(stat.substr(0, open), &sign.id) ||
      !absl::SimpleAtoi(fields[kUserTicks], &user) ||
      !absl::SimpleAtoi(fields[kSystemTicks], &system)) {
    return std::nullopt;
  }
  sign.cpu = absl::Seconds(user + system) / ticks_per_s;
  sign.runnable = fields[kState] == "R";
  sign.in_io = fields[kState] == "D";
  return sign;
}

}  // namespace weir::worker
