#include "jobs/engine/input/gzip_input.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"

namespace weir {
namespace {

constexpr std::int64_t kCompressedBytes = 64 << 10;
// zlib's largest window, and a gzip header, not one of zlib's own.
constexpr int kGzipWindowBits = 15 + 16;

}  // namespace

GzipInput::~GzipInput() {
  if (ready_) ::inflateEnd(&stream_);
}

absl::Status GzipInput::Open(const InputRange& range) {
  if (absl::Status status = file_.Open(range); !status.ok()) return status;
  file_bytes_ = range.file_bytes;
  compressed_.resize(static_cast<std::size_t>(std::min(kCompressedBytes, file_bytes_)));
  if (::inflateInit2(&stream_, kGzipWindowBits) != Z_OK) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory to decompress ", path(), "; give the task more"));
  }
  ready_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> GzipInput::Read(char* into, std::int64_t bytes) {
  const auto wanted =
      static_cast<uInt>(std::min<std::int64_t>(bytes, std::numeric_limits<uInt>::max()));
  stream_.next_out = reinterpret_cast<unsigned char*>(into);
  stream_.avail_out = wanted;
  while (stream_.avail_out > 0) {
    if (stream_.avail_in == 0) {
      if (absl::Status status = Fill(); !status.ok()) return status;
    }
    if (!in_member_) SkipPadding();
    if (stream_.avail_in == 0) {
      if (read_ < file_bytes_) continue;  // all of it was padding
      if (!in_member_) break;
      return Damaged("it is cut short");
    }
    if (absl::Status status = Inflate(); !status.ok()) return status;
  }
  return wanted - stream_.avail_out;
}

absl::Status GzipInput::Fill() {
  const std::int64_t bytes = std::min(kCompressedBytes, file_bytes_ - read_);
  if (bytes == 0) return absl::OkStatus();
  absl::Status status = file_.Read(read_, reinterpret_cast<char*>(compressed_.data()), bytes);
  if (!status.ok()) return status;
  read_ += bytes;
  stream_.next_in = compressed_.data();
  stream_.avail_in = static_cast<uInt>(bytes);
  return absl::OkStatus();
}

// Between members; a new one begins where there is anything else.
void GzipInput::SkipPadding() {
  while (stream_.avail_in > 0 && *stream_.next_in == 0) {
    ++stream_.next_in;
    --stream_.avail_in;
  }
  if (stream_.avail_in == 0) return;
  ::inflateReset(&stream_);
  in_member_ = true;
}

absl::Status GzipInput::Inflate() {
  switch (::inflate(&stream_, Z_NO_FLUSH)) {
    case Z_STREAM_END:
      in_member_ = false;
      return absl::OkStatus();
    case Z_OK:
    case Z_BUF_ERROR:  // wants more input
      return absl::OkStatus();
    case Z_MEM_ERROR:
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory to decompress ", path(), "; give the task more"));
    default:
      return Damaged(stream_.msg != nullptr ? stream_.msg : "it is no gzip file");
  }
}

absl::Status GzipInput::Damaged(const char* how) const {
  return StepErrorStatus(
      absl::StatusCode::kDataLoss,
      {std::string(step_error::kDataLoss),
       absl::StrCat("gzip file ", path(), " is damaged at byte ", file_position(), ": ", how),
       "test it with 'gzip -t' and fetch it again; a file that is not gzip must not end in .gz",
       path(), file_position()});
}

}  // namespace weir
