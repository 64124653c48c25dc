#include "runtime/format/file_appender.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"

namespace weir::format {
namespace {

// Small blocks are gathered to this size; larger ones go straight to the kernel.
constexpr std::size_t kBufferBytes = 256 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<FileAppender>> FileAppender::Create(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot create ", path));
  return std::unique_ptr<FileAppender>(new FileAppender(std::move(fd), path));
}

FileAppender::FileAppender(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {
  buffer_.reserve(kBufferBytes);
}

FileAppender::~FileAppender() {
  if (!closed_) ::unlink(path_.c_str());
}

absl::Status FileAppender::Append(std::string_view bytes) {
  bytes_ += static_cast<std::int64_t>(bytes.size());
  if (buffer_.size() + bytes.size() <= kBufferBytes) {
    buffer_.append(bytes);
    return absl::OkStatus();
  }
  const absl::Status flushed = Flush();
  if (!flushed.ok()) return flushed;
  if (bytes.size() >= kBufferBytes) return Write(bytes);
  buffer_.append(bytes);
  return absl::OkStatus();
}

absl::Status FileAppender::Close(Sync sync) {
  const absl::Status flushed = Flush();
  if (!flushed.ok()) return flushed;
  if (sync == Sync::kYes && ::fsync(fd_.get()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot sync ", path_));
  }
  // Network file systems report a full disk only here.
  if (::close(fd_.Release()) != 0) return ErrnoStatus(errno, absl::StrCat("cannot close ", path_));
  closed_ = true;
  return absl::OkStatus();
}

absl::Status FileAppender::Flush() {
  const absl::Status written = Write(buffer_);
  buffer_.clear();
  return written;
}

absl::Status FileAppender::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot write ", bytes.size(), " bytes to ", path_));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace weir::format
