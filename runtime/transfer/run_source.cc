#include "runtime/transfer/run_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/limits.h"
#include "runtime/format/xxh3_stream.h"
#include "runtime/transfer/frame.h"

namespace weir::transfer {
namespace {

Fd OpenToRead(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return Fd(fd);
}

// What passes is told apart from a disk that fails, which no second request will find better.
absl::Status CannotOpen(int error_number, const std::string& path) {
  if (error_number == ENOENT) {
    return absl::NotFoundError(absl::StrCat(path,
                                            " was removed while the job ran; if something cleans "
                                            "up there, choose another --work-dir"));
  }
  absl::Status status = ErrnoStatus(error_number, absl::StrCat("cannot open ", path));
  const bool passes = error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM;
  return passes ? status : absl::DataLossError(status.message());
}

// XXH3 of a range of the run, read through `piece`.
absl::StatusOr<std::uint64_t> ChecksumOf(const RunSource& source, std::int64_t offset,
                                         std::int64_t bytes, std::uint64_t seed,
                                         std::vector<char>& piece) {
  format::Xxh3Stream checksum(seed);
  for (std::int64_t done = 0; done < bytes;) {
    const auto wanted = std::min(static_cast<std::size_t>(bytes - done), piece.size());
    const ssize_t got = ::pread(source.file.get(), piece.data(), wanted, offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const std::string run = absl::StrCat("run ", source.request.run_id());
      return absl::DataLossError(
          got < 0 ? std::string(ErrnoStatus(errno, "cannot read " + run).message())
                  : absl::StrCat(run, " ends at byte ", offset + done));
    }
    checksum.Append({piece.data(), static_cast<std::size_t>(got)});
    done += got;
  }
  return checksum.Digest();
}

}  // namespace

absl::StatusOr<RunSource> OpenRun(const RunCatalog& catalog, v1::DataRequest request) {
  const JobKey key{request.job_id(), request.job_token(), request.master_epoch(),
                   request.plan_epoch()};
  const absl::StatusOr<RunFile> run = catalog.Find(key, request.run_id());
  if (!run.ok()) return run.status();
  if (request.offset() > run->bytes || request.bytes() > run->bytes - request.offset()) {
    return absl::OutOfRangeError(absl::StrCat("run ", request.run_id(), " has ", run->bytes,
                                              " bytes; asked for ", request.bytes(), " at ",
                                              request.offset()));
  }
  if (request.credit_bytes() < std::min(request.bytes(), limits::kBlockBytesMax)) {
    return absl::InvalidArgumentError(absl::StrCat("credit of ", request.credit_bytes(),
                                                   " bytes is less than one frame, ",
                                                   limits::kBlockBytesMax));
  }
  RunSource source{OpenToRead(run->path), std::move(request), run->probe};
  if (!source.file.valid()) return CannotOpen(errno, run->path);
  return source;
}

asio::awaitable<absl::Status> SendFrame(DataSocket& socket, const RunSource& source,
                                        std::int64_t offset, std::int64_t bytes,
                                        std::vector<char>& piece, DataSocket::Moved* moved) {
  FrameHeader header{FrameKind::kData, static_cast<std::uint32_t>(bytes), 0};
  const absl::StatusOr<std::uint64_t> checksum =
      ChecksumOf(source, offset, bytes, FrameSeed(header.kind, header.body_bytes), piece);
  if (!checksum.ok()) {
    // There is no second copy: the peer is not to come back for it.
    const std::string early_end = EncodeStatus(checksum.status());
    [[maybe_unused]] const absl::Status told = co_await socket.Write(early_end);
    co_return checksum.status();
  }
  header.checksum = *checksum;
  char encoded[kFrameHeaderBytes];
  EncodeFrameHeader(header, encoded);
  const absl::Status written = co_await socket.Write({encoded, sizeof encoded}, true);
  if (!written.ok()) co_return written;
  co_return co_await socket.SendFile(source.file.get(), offset, bytes, moved);
}

}  // namespace weir::transfer
