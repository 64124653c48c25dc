#include "runtime/env/real/token_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/shell_path.h"
#include "runtime/base/whole_write.h"
#include "runtime/env/real/rename_without_loss.h"
#include "runtime/env/real/state_directory.h"

namespace weir::env {
namespace {

constexpr std::size_t kTokenBytesMin = 32;
constexpr std::size_t kTokenBytesMax = 256;

std::string RandomToken() {
  std::random_device entropy;  // the kernel's
  std::string token;
  for (int i = 0; i < 8; ++i) absl::StrAppendFormat(&token, "%08x", entropy());
  return token;
}

// Who may not read it, may not write it either: a stranger would put a token of theirs there.
mode_t Forbidden(bool shared) { return shared ? S_IRWXO | S_IWGRP | S_IXGRP : S_IRWXG | S_IRWXO; }

absl::Status CheckOwner(const std::string& path, const struct stat& st, bool shared) {
  if (!S_ISREG(st.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("the token file ", path, " is not a file"));
  }
  if (!shared && st.st_uid != ::geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat("the token file ", path, " belongs to user ",
                                                      st.st_uid, ", this is user ", ::geteuid(),
                                                      "; give another: --token-file FILE"));
  }
  if ((st.st_mode & Forbidden(shared)) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("the token file %s has mode %03o, so that others than its user may use it; "
                      "remove it and start "
                      "the master and the workers again (a new one is made), or: chmod %s %s",
                      path, st.st_mode & 0777, shared ? "640" : "600", ShellPath(path)));
}

}  // namespace

absl::StatusOr<std::string> ReadTokenFile(const std::string& path, bool shared) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid()) {
    absl::Status failed = ErrnoStatus(errno, absl::StrCat("open the token file ", path));
    if (!absl::IsNotFound(failed)) return failed;
    return absl::NotFoundError(absl::StrCat(
        "there is no token file ", path,
        ": check the path (--token-file, WEIR_TOKEN_FILE), or start the master with it first, "
        "which makes the file"));
  }
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return ErrnoStatus(errno, absl::StrCat("examine ", path));
  if (absl::Status owned = CheckOwner(path, st, shared); !owned.ok()) return owned;
  std::string text(kTokenBytesMax + 2, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return ErrnoStatus(errno, absl::StrCat("read the token file ", path));
  text.resize(static_cast<std::size_t>(got));
  absl::StripAsciiWhitespace(&text);
  const bool sound =
      text.size() >= kTokenBytesMin && text.size() <= kTokenBytesMax &&
      std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isgraph(c); });
  if (sound) return text;
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      " holds no token: it must be one line of 32 to 256 letters and digits; remove it and "
      "start the master and the workers again (a new one is made)"));
}

absl::StatusOr<std::string> FindToken(const std::string& chosen) {
  if (!chosen.empty()) return ReadTokenFile(chosen, /*shared=*/true);
  const std::string directory = StateDirectory();
  if (directory.empty()) return std::string();
  absl::StatusOr<std::string> token = ReadTokenFile(directory + "/token", /*shared=*/false);
  return absl::IsNotFound(token.status()) ? std::string() : token;
}

absl::Status MakeTokenFile(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  // Not by the process: in a container each start has the same number, and one that was killed in
  // here has left its file.
  std::string fresh = path + ".XXXXXX";
  const Fd file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file.valid()) {
    // Why there is no directory says more than that there is none.
    const int reason = errno == ENOENT && error ? error.value() : errno;
    return ErrnoStatus(reason, absl::StrCat("make the token file ", path));
  }
  const std::string text = RandomToken() + "\n";
  int refusal = WriteWhole(text, [&file](std::string_view left, std::int64_t) {
    return ::write(file.get(), left.data(), left.size());
  });
  if (refusal == 0 && ::fsync(file.get()) != 0) refusal = errno;
  const absl::Status made =
      refusal == 0 ? RenameWithoutLoss(fresh, path)
                   : ErrnoStatus(refusal, absl::StrCat("write the token file ", fresh));
  if (!made.ok()) ::unlink(fresh.c_str());
  return absl::IsAlreadyExists(made) ? absl::OkStatus() : made;
}

}  // namespace weir::env
