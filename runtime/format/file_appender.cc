#include "runtime/format/file_appender.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/limits.h"

namespace weir::format {
namespace {

// Small blocks are gathered to this size; larger ones go straight to the kernel.
constexpr std::size_t kBufferBytes = 256 << 10;

std::string DirectoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// The way to a file that has no name.
std::string DescriptorPath(const Fd& fd) { return absl::StrCat("/proc/self/fd/", fd.get()); }

}  // namespace

absl::StatusOr<std::unique_ptr<FileAppender>> FileAppender::Create(const std::string& path,
                                                                   WriteBack write_back) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot create ", path));
  std::unique_ptr<FileAppender> file(new FileAppender(std::move(fd), path, /*named=*/true));
  file->write_back_ = write_back;
  return file;
}

absl::StatusOr<std::unique_ptr<FileAppender>> FileAppender::CreateUnnamed(const std::string& path) {
  Fd fd(::open(DirectoryOf(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644));
  // EISDIR: a kernel that does not know the flag. EINVAL, ENOSYS: file systems beyond one that
  // does.
  const bool unknown =
      !fd.valid() && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOSYS);
  if (!fd.valid() && !unknown) return ErrnoStatus(errno, absl::StrCat("cannot create ", path));
  if (unknown || ::access(DescriptorPath(fd).c_str(), F_OK) != 0) {
    return absl::UnimplementedError(absl::StrCat("no file without a name is possible for ", path));
  }
  return std::unique_ptr<FileAppender>(new FileAppender(std::move(fd), path, /*named=*/false));
}

FileAppender::FileAppender(Fd fd, std::string path, bool named)
    : fd_(std::move(fd)), path_(std::move(path)), named_(named) {
  buffer_.reserve(kBufferBytes);
}

FileAppender::~FileAppender() {
  if (named_ && !closed_) ::unlink(path_.c_str());
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

absl::Status FileAppender::SyncNow() {
  const absl::Status flushed = Flush();
  if (!flushed.ok()) return flushed;
  if (::fsync(fd_.get()) != 0) return ErrnoStatus(errno, absl::StrCat("cannot sync ", path_));
  return absl::OkStatus();
}

absl::Status FileAppender::Close(Sync sync) {
  const absl::Status flushed = sync == Sync::kYes ? SyncNow() : Flush();
  if (!flushed.ok()) return flushed;
  if (!named_) {
    if (::linkat(AT_FDCWD, DescriptorPath(fd_).c_str(), AT_FDCWD, path_.c_str(),
                 AT_SYMLINK_FOLLOW) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot name ", path_));
    }
    named_ = true;
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
    written_bytes_ += written;
  }
  return WriteBackGrown();
}

// Tells the disk to write what has grown, then waits for the step before that: so it always has one
// to do. Where the file system cannot do it by ranges, the last sync has it all to do.
absl::Status FileAppender::WriteBackGrown() {
  if (write_back_ == WriteBack::kLater || written_bytes_ - begun_bytes_ < limits::kWriteBackBytes) {
    return absl::OkStatus();
  }
  constexpr unsigned int kWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const std::int64_t begin = std::exchange(begun_bytes_, written_bytes_);
  if (::sync_file_range(fd_.get(), begin, written_bytes_ - begin, SYNC_FILE_RANGE_WRITE) != 0 ||
      (begin > ended_bytes_ &&
       ::sync_file_range(fd_.get(), ended_bytes_, begin - ended_bytes_, kWait) != 0)) {
    const bool unknown =
        errno == EINVAL || errno == ENOSYS || errno == ESPIPE || errno == EOPNOTSUPP;
    if (!unknown) return ErrnoStatus(errno, absl::StrCat("cannot write back ", path_));
    write_back_ = WriteBack::kLater;
  }
  ended_bytes_ = begin;
  return absl::OkStatus();
}

}  // namespace weir::format
