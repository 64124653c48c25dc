#include "runtime/base/errno_advice.h"

#include <cerrno>

namespace weir {

std::string_view AdviceForErrno(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return "check permissions of the path and of the directories above it";
    case EROFS:
      return "that file system is mounted read-only; choose another";
    case EIO:
    case EREMOTEIO:
      return "the disk or file server failed, not the permissions: see dmesg and the log of that "
             "server, or use a copy elsewhere";
    case ESTALE:
      return "its file server replaced or removed it while it was in use: run again once nobody "
             "does that, or mount it anew";
    case ENOTCONN:
    case EHOSTDOWN:
    case ETIMEDOUT:
      return "its file server does not answer: check the mount";
    case ELOOP:
      return "symbolic links lead in a circle: remove the link, or name the files or a glob "
             "instead";
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f, LimitFSIZE= of a systemd unit), or "
             "use a file system that takes larger ones";
    case ENAMETOOLONG:
      return "choose a shorter name";
    case EMFILE:
    case ENFILE:
      return "raise the limit on open files (ulimit -n)";
    default:
      return "";
  }
}

}  // namespace weir
