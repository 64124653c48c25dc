#include "jobs/engine/input/packed_input.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/input/gzip_input.h"
#include "jobs/engine/input/zstd_input.h"

namespace weir {
namespace {
// Holds a whole block of zstd, which would be copied where it came in pieces.
constexpr std::int64_t kCompressedBytes = 256 << 10;
}  // namespace

std::unique_ptr<PackedInput> MakePackedInput(Packing packing, std::int64_t decoder_bytes_max) {
  if (packing == Packing::kZstd) return std::make_unique<ZstdInput>(decoder_bytes_max);
  return std::make_unique<GzipInput>();
}

absl::Status PackedInput::Open(const InputRange& range) {
  if (absl::Status status = file_.Open(range); !status.ok()) return status;
  file_bytes_ = range.file_bytes;
  read_ = range.begin;
  borders_ = range.borders;
  if (!borders_.empty()) text_at_ = borders_.front().text_at;
  compressed_.resize(static_cast<std::size_t>(std::min(kCompressedBytes, file_bytes_)));
  return Start();
}

absl::StatusOr<std::int64_t> PackedInput::Read(char* into, std::int64_t bytes) {
  std::int64_t got = 0;
  while (got < bytes) {
    if (left_.empty()) {
      if (absl::Status status = Fill(); !status.ok()) return status;
    }
    if (!in_member_) {
      left_.remove_prefix(began_ ? PaddingOf(left_) : 0);
      if (left_.empty() && read_ < file_bytes_) continue;  // all of it was padding
      if (absl::Status status = PassBorder(); !status.ok()) return status;
      if (left_.empty() && began_) break;
      if (absl::Status status = BeginMember(); !status.ok()) return status;
      in_member_ = began_ = true;
    }
    const absl::StatusOr<Decoded> decoded = Decode(left_, into + got, bytes - got);
    if (!decoded.ok()) return decoded.status();
    left_.remove_prefix(static_cast<std::size_t>(decoded->consumed));
    got += decoded->produced;
    text_at_ += decoded->produced;
    in_member_ = !decoded->member_ended;
    const bool stands_still = decoded->consumed == 0 && decoded->produced == 0 && in_member_;
    if (stands_still && read_ == file_bytes_) return Damaged("it is cut short");
    // A decoder takes all that it is given, or fills its room.
    if (stands_still && !left_.empty()) return Damaged("its decoder does not go on");
  }
  return got;
}

absl::Status PackedInput::PassBorder() {
  if (passed_ == borders_.size() || file_position() < borders_[passed_].at) {
    return absl::OkStatus();
  }
  const PackedBorder& border = borders_[passed_++];
  if (file_position() != border.at || text_at_ != border.text_at) return WrongSizes();
  return absl::OkStatus();
}

absl::Status PackedInput::CheckBorders() const {
  return passed_ == borders_.size() ? absl::OkStatus() : WrongSizes();
}

absl::Status PackedInput::WrongSizes() const {
  return Damaged("its text is not as long as its headers say");
}

absl::Status PackedInput::Fill() {
  const std::int64_t bytes =
      std::min(static_cast<std::int64_t>(compressed_.size()), file_bytes_ - read_);
  if (bytes == 0) return absl::OkStatus();
  if (absl::Status status = file_.Read(read_, compressed_.data(), bytes); !status.ok()) {
    return status;
  }
  read_ += bytes;
  left_ = {compressed_.data(), static_cast<std::size_t>(bytes)};
  return absl::OkStatus();
}

absl::StatusOr<std::string> PackedInput::Peek(std::int64_t bytes) {
  const std::int64_t wanted = std::min(bytes, file_bytes_ - file_position());
  std::string peeked(left_.substr(0, static_cast<std::size_t>(wanted)));
  const auto have = static_cast<std::int64_t>(peeked.size());
  peeked.resize(static_cast<std::size_t>(wanted));
  absl::Status status = file_.Read(file_position() + have, peeked.data() + have, wanted - have);
  if (!status.ok()) return status;
  return peeked;
}

absl::Status PackedInput::Damaged(const char* how) const {
  return StepErrorStatus(
      absl::StatusCode::kDataLoss,
      {std::string(step_error::kDataLoss),
       absl::StrCat(format(), " file ", path(), " is damaged at byte ", file_position(), ": ", how),
       absl::StrCat("test it with '", format(), " -t' and fetch it again; a file that is not ",
                    format(), " must not have a name that says so"),
       path(), file_position()});
}

absl::Status PackedInput::NoMemory() const {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory to decompress ", path(), "; give the task more"));
}

}  // namespace weir
