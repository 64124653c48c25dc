#include "jobs/engine/input/gzip_input.h"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

// zlib's largest window, and a gzip header, not one of zlib's own.
constexpr int kGzipWindowBits = 15 + 16;
// Of which the window is the most.
constexpr std::int64_t kInflateBytes = 44 << 10;

uInt AtOnce(std::int64_t bytes) {
  return static_cast<uInt>(std::min<std::int64_t>(bytes, std::numeric_limits<uInt>::max()));
}

}  // namespace

GzipInput::~GzipInput() {
  if (ready_) ::inflateEnd(&stream_);
}

absl::Status GzipInput::Start() {
  if (::inflateInit2(&stream_, kGzipWindowBits) != Z_OK) return NoMemory();
  ready_ = true;
  decoder_bytes_ = kInflateBytes;
  return absl::OkStatus();
}

absl::Status GzipInput::BeginMember() {
  ::inflateReset(&stream_);
  return absl::OkStatus();
}

std::size_t GzipInput::PaddingOf(std::string_view packed) const {
  return std::min(packed.find_first_not_of('\0'), packed.size());
}

absl::StatusOr<PackedInput::Decoded> GzipInput::Decode(std::string_view packed, char* into,
                                                       std::int64_t bytes) {
  const uInt in = AtOnce(static_cast<std::int64_t>(packed.size()));
  const uInt out = AtOnce(bytes);
  // zlib does not write to what it reads; its interface is older than const.
  stream_.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data()));
  stream_.avail_in = in;
  stream_.next_out = reinterpret_cast<unsigned char*>(into);
  stream_.avail_out = out;
  const int result = ::inflate(&stream_, Z_NO_FLUSH);
  switch (result) {
    case Z_STREAM_END:
    case Z_OK:
    case Z_BUF_ERROR:  // wants more input
      return Decoded{in - stream_.avail_in, out - stream_.avail_out, result == Z_STREAM_END};
    case Z_MEM_ERROR:
      return NoMemory();
    default:
      return Damaged(stream_.msg != nullptr ? stream_.msg : "it is no gzip file");
  }
}

}  // namespace weir
