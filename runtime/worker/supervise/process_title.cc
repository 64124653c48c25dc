#include "runtime/worker/supervise/process_title.h"

#include <algorithm>
#include <cstring>

namespace weir::worker {
namespace {

// The kernel puts them one behind the other; what somebody moved elsewhere ends it.
absl::Span<char> RoomOf(char** strings) {
  if (strings == nullptr || *strings == nullptr) return {};
  char* const begin = *strings;
  char* end = begin;
  for (char** one = strings; *one == end; ++one) end += std::strlen(*one) + 1;
  return {begin, static_cast<std::size_t>(end - begin)};
}

void Fill(absl::Span<char> room, const std::vector<std::string>& strings) {
  std::fill(room.begin(), room.end(), '\0');
  for (const std::string& one : strings) {
    if (one.size() + 1 > room.size()) return;
    std::copy(one.begin(), one.end(), room.begin());
    room.remove_prefix(one.size() + 1);
  }
}

}  // namespace

ProcessTitle::ProcessTitle(char** words, char** environment)
    : words_(RoomOf(words)), environment_(RoomOf(environment)) {}

void ProcessTitle::Write(const std::vector<std::string>& words,
                         const std::vector<std::string>& environment) const {
  Fill(words_, words);
  Fill(environment_, environment);
}

}  // namespace weir::worker
