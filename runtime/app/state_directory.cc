#include "runtime/app/state_directory.h"

#include <pwd.h>
#include <unistd.h>

#include "runtime/app/machine.h"

namespace weir::app {
namespace {

// Services may be started without HOME.
std::string HomeDirectory() {
  const std::string home = EnvironmentVariable("HOME");
  if (!home.empty()) return home;
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry == nullptr || entry->pw_dir == nullptr ? std::string() : entry->pw_dir;
}

}  // namespace

std::string StateDirectory() {
  const std::string state = EnvironmentVariable("XDG_STATE_HOME");
  // What is not absolute is to be ignored (XDG base directory specification).
  if (state.starts_with('/')) return state + "/weir";
  const std::string home = HomeDirectory();
  return home.starts_with('/') ? home + "/.local/state/weir" : std::string();
}

}  // namespace weir::app
