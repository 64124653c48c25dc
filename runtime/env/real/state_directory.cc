#include "runtime/env/real/state_directory.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace weir::env {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Services may be started without HOME.
std::string HomeDirectory() {
  const std::string home = Variable("HOME");
  if (!home.empty()) return home;
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry == nullptr || entry->pw_dir == nullptr ? std::string() : entry->pw_dir;
}

}  // namespace

std::string StateDirectory() {
  const std::string state = Variable("XDG_STATE_HOME");
  // What is not absolute is to be ignored (XDG base directory specification).
  if (state.starts_with('/')) return state + "/weir";
  const std::string home = HomeDirectory();
  return home.starts_with('/') ? home + "/.local/state/weir" : std::string();
}

}  // namespace weir::env
