#include "runtime/format/file_appender.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/limits.h"

namespace weir::format {
namespace {

// Small pieces are gathered to this size.
constexpr std::size_t kBufferBytes = 256 << 10;
// Larger ones go to the kernel from where they lie, with what was gathered before them.
constexpr std::size_t kDirectBytes = 32 << 10;

// A file that has so much gets room for as much more at a time.
constexpr std::int64_t kReserveBytes = 4 << 20;

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
  if (bytes.size() >= kDirectBytes) {
    absl::Status written = Write(buffer_, bytes);
    buffer_.clear();
    return written;
  }
  if (buffer_.size() + bytes.size() <= kBufferBytes) {
    buffer_.append(bytes);
    return absl::OkStatus();
  }
  absl::Status flushed = Flush();
  if (flushed.ok()) buffer_.append(bytes);
  return flushed;
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
  if (reserved_bytes_ > written_bytes_ && ::ftruncate(fd_.get(), written_bytes_) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot give back what was reserved for ", path_));
  }
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
  absl::Status written = Write(buffer_, {});
  buffer_.clear();
  return written;
}

absl::Status FileAppender::Write(std::string_view first, std::string_view second) {
  Reserve(static_cast<std::int64_t>(first.size() + second.size()));
  while (!first.empty() || !second.empty()) {
    const std::array<iovec, 2> parts = {iovec{const_cast<char*>(first.data()), first.size()},
                                        iovec{const_cast<char*>(second.data()), second.size()}};
    const ssize_t written = ::writev(fd_.get(), parts.data(), static_cast<int>(parts.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {  // nothing of something would be nothing again
      return ErrnoStatus(
          written < 0 ? errno : EIO,
          absl::StrCat("cannot write ", first.size() + second.size(), " bytes to ", path_));
    }
    const std::size_t of_first = std::min(static_cast<std::size_t>(written), first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(static_cast<std::size_t>(written) - of_first);
    written_bytes_ += written;
  }
  return WriteBackGrown();
}

// Asks for the next blocks of the file, many at a time: ext4 else looks for them at each page that
// is written, which is a quarter of what writing costs. Where it does not go (a disk that is nearly
// full) the write will tell.
void FileAppender::Reserve(std::int64_t bytes) {
  const std::int64_t end = written_bytes_ + bytes;
  if (reserved_bytes_ < 0 || end <= reserved_bytes_ || written_bytes_ < kReserveBytes) return;
  if (reserved_bytes_ == 0) {
    struct statfs file_system {};
    const bool known = ::fstatfs(fd_.get(), &file_system) == 0;
    if (!known || file_system.f_type != EXT4_SUPER_MAGIC) reserved_bytes_ = -1;
    if (reserved_bytes_ < 0) return;
  }
  const std::int64_t begin = std::max(reserved_bytes_, written_bytes_);
  const std::int64_t more = std::max(kReserveBytes, end - begin);
  if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, begin, more) == 0) {
    reserved_bytes_ = begin + more;
    return;
  }
  reserved_bytes_ = -1;
  // A part may have been found. That this is refused does no harm.
  [[maybe_unused]] const int given_back = ::ftruncate(fd_.get(), written_bytes_);
}

// Tells the disk to write what has grown, then waits for the step before that: so it always has one
// to do. Steps end where no page lies across: one of both would be written with the later step,
// and waiting for the earlier one would wait for both. Where the file system cannot do it by
// ranges, the last sync has it all to do.
absl::Status FileAppender::WriteBackGrown() {
  const std::int64_t end = written_bytes_ / limits::kWriteBackBytes * limits::kWriteBackBytes;
  if (write_back_ == WriteBack::kLater || end == begun_bytes_) return absl::OkStatus();
  constexpr unsigned int kWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const std::int64_t begin = std::exchange(begun_bytes_, end);
  if (::sync_file_range(fd_.get(), begin, end - begin, SYNC_FILE_RANGE_WRITE) != 0 ||
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
