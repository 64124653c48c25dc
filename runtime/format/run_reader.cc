#include "runtime/format/run_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/format/block.h"
#include "runtime/format/codec.h"

namespace weir::format {
namespace {

constexpr char kDamagedRun[] = "weir/damaged-run";

absl::Status CheckRange(const std::string& path, std::int64_t offset, std::int64_t bytes) {
  if (offset >= 0 && bytes >= 0 && offset <= INT64_MAX - bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cannot read section of ", path, " at ", offset,
                                                 " of ", bytes, " bytes: no such range"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunReader>> RunReader::Open(const std::string& path,
                                                           std::int64_t offset,
                                                           std::int64_t bytes) {
  if (absl::Status range = CheckRange(path, offset, bytes); !range.ok()) return range;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open run ", path));
  // The kernel then reads ahead further; that it may refuse does no harm.
  ::posix_fadvise(fd.get(), offset, bytes, POSIX_FADV_SEQUENTIAL);
  return Of(std::make_shared<const Fd>(std::move(fd)), path, offset, bytes);
}

absl::StatusOr<std::unique_ptr<RunReader>> RunReader::Of(std::shared_ptr<const Fd> file,
                                                         const std::string& path,
                                                         std::int64_t offset, std::int64_t bytes) {
  if (absl::Status range = CheckRange(path, offset, bytes); !range.ok()) return range;
  return std::unique_ptr<RunReader>(new RunReader(std::move(file), path, offset, bytes));
}

RunReader::RunReader(std::shared_ptr<const Fd> file, std::string path, std::int64_t offset,
                     std::int64_t bytes)
    : file_(std::move(file)),
      path_(std::move(path)),
      begin_(offset),
      position_(offset),
      end_(offset + bytes) {}

absl::StatusOr<absl::Span<const char>> RunReader::NextBlock() {
  const absl::StatusOr<bool> more = TakeBlock(block_);
  if (!more.ok()) return more.status();
  return absl::Span<const char>(block_);
}

absl::StatusOr<bool> RunReader::TakeBlock(std::string& block) {
  if (!broken_.ok()) return broken_;
  if (position_ == end_) {
    block.clear();
    return false;
  }
  broken_ = ReadBlock(block);
  if (!broken_.ok()) return broken_;
  return true;
}

int RunReader::CountBlocks(int most) const {
  int blocks = 0;
  for (std::int64_t at = begin_; blocks < most && end_ - at > kBlockHeaderBytes; ++blocks) {
    char header[kBlockHeaderBytes];
    if (!ReadAt(at, header, kBlockHeaderBytes).ok()) break;
    const absl::StatusOr<BlockHeader> decoded = DecodeBlockHeader({header, sizeof header});
    if (!decoded.ok()) break;
    at += kBlockHeaderBytes + static_cast<std::int64_t>(decoded->stored_bytes);
  }
  return blocks;
}

absl::Status RunReader::ReadBlock(std::string& block) {
  if (end_ - position_ <= kBlockHeaderBytes) {
    return DataLossAt(position_, absl::DataLossError(absl::StrCat(
                                     end_ - position_, " bytes are left, too few for a block")));
  }
  char header_bytes[kBlockHeaderBytes];
  absl::Status header_read = ReadAt(position_, header_bytes, kBlockHeaderBytes);
  if (!header_read.ok()) return header_read;
  const std::string_view header(header_bytes, sizeof header_bytes);
  const absl::StatusOr<BlockHeader> decoded = DecodeBlockHeader(header);
  if (!decoded.ok()) return DataLossAt(position_, decoded.status());
  const auto stored_bytes = static_cast<std::int64_t>(decoded->stored_bytes);
  if (stored_bytes > end_ - position_ - kBlockHeaderBytes) {
    return DataLossAt(position_, absl::DataLossError(absl::StrCat(
                                     "block of ", stored_bytes, " bytes reaches beyond the end")));
  }
  const bool is_packed = decoded->codec != v1::CODEC_NONE;
  std::string& stored = is_packed ? packed_ : block;
  stored.resize(decoded->stored_bytes);
  absl::Status read = ReadAt(position_ + kBlockHeaderBytes, stored.data(), stored_bytes);
  if (!read.ok()) return read;
  const absl::Status checked = CheckBlock(header, stored);
  if (!checked.ok()) return DataLossAt(position_, checked);
  if (is_packed) {
    block.resize(decoded->raw_bytes);
    const absl::Status unpacked =
        UnpackBlock(decoded->codec, stored, block.data(), decoded->raw_bytes);
    if (!unpacked.ok()) return DataLossAt(position_, unpacked);
  }
  position_ += kBlockHeaderBytes + stored_bytes;
  records_ += static_cast<std::int64_t>(decoded->records);
  return absl::OkStatus();
}

absl::Status RunReader::ReadAt(std::int64_t offset, char* into, std::int64_t bytes) const {
  std::int64_t got = 0;
  while (got < bytes) {
    const ssize_t n =
        ::pread(file_->get(), into + got, static_cast<std::size_t>(bytes - got), offset + got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot read run ", path_, " at ", offset + got));
    }
    if (n == 0) {
      return DataLossAt(offset + got, absl::DataLossError("file ends before its section"));
    }
    got += n;
  }
  return absl::OkStatus();
}

absl::Status RunReader::DataLossAt(std::int64_t offset, const absl::Status& why) const {
  absl::Status damaged = absl::DataLossError(
      absl::StrCat("run ", path_, " is damaged at byte ", offset, ": ", why.message()));
  damaged.SetPayload(kDamagedRun, absl::Cord(path_));
  return damaged;
}

std::optional<std::string> DamagedRunPath(const absl::Status& status) {
  const auto path = status.GetPayload(kDamagedRun);
  if (!path) return std::nullopt;
  return std::string(*path);
}

}  // namespace weir::format
