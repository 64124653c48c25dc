#include "runtime/env/real/service_notice.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"

namespace weir::env {

absl::Status TellServiceManager(const std::string& socket, absl::string_view state) {
  if (socket.empty()) return absl::OkStatus();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if ((socket[0] != '/' && socket[0] != '@') || socket.size() < 2 ||
      socket.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET '", socket, "' is no address of a service manager"));
  }
  std::memcpy(address.sun_path, socket.data(), socket.size());
  // The kernel's sign of a name that is no file.
  if (socket[0] == '@') address.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "cannot make a socket");
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  if (::sendto(fd.get(), state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot tell the service manager at ", socket));
  }
  return absl::OkStatus();
}

}  // namespace weir::env
