#include "jobs/packed/member_borders.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "jobs/packed/little_endian_text.h"
#include "jobs/packed/zstd_frame.h"

namespace weir {
namespace {

using Borders = std::vector<MemberBorder>;

constexpr std::int64_t kLargestText = std::int64_t{1} << 62;

std::int64_t Number(std::string_view bytes, std::size_t at, std::size_t size) {
  return static_cast<std::int64_t>(LittleEndian(bytes.substr(at, size)));
}

/// Keeps of all borders those that make pieces worth having.
class Pieces {
 public:
  explicit Pieces(std::int64_t file_bytes)
      : file_bytes_(file_bytes), apart_(std::max(kPiecePackedBytesMin, file_bytes / kPiecesMax)) {}

  /// Takes the next member. False where sizes lead out of the file, or beyond all texts.
  bool Add(std::int64_t packed_bytes, std::int64_t text_bytes) {
    if (packed_bytes <= 0 || packed_bytes > file_bytes_ - end_.at) return false;
    if (text_bytes < 0 || text_bytes > kLargestText - end_.text_at) return false;
    if (end_.at - kept_.back().at >= apart_ &&
        end_.text_at - kept_.back().text_at >= kPieceTextBytesMin) {
      kept_.push_back(end_);
    }
    end_.at += packed_bytes;
    end_.text_at += text_bytes;
    return true;
  }
  std::int64_t at() const { return end_.at; }

  Borders Take() {
    if (end_.text_at - kept_.back().text_at < kPieceTextBytesMin && kept_.size() > 1) {
      kept_.pop_back();
    }
    if (kept_.size() == 1) return {};
    kept_.push_back(end_);
    return std::move(kept_);
  }

 private:
  const std::int64_t file_bytes_;
  const std::int64_t apart_;
  MemberBorder end_;
  Borders kept_{MemberBorder()};
};

// Bytes of the member that begins here, as its extra field says; nothing where it does not.
std::optional<std::int64_t> BgzfBytes(std::string_view header) {
  constexpr std::size_t kFixedBytes = 12;
  constexpr unsigned char kExtraField = 4;
  if (header.size() < kFixedBytes || !header.starts_with("\x1f\x8b\x08") ||
      (static_cast<unsigned char>(header[3]) & kExtraField) == 0) {
    return std::nullopt;
  }
  const auto extra_bytes = static_cast<std::size_t>(Number(header, 10, 2));
  std::string_view extra = header.substr(kFixedBytes, extra_bytes);
  while (extra.size() >= 4) {
    const auto bytes = static_cast<std::size_t>(Number(extra, 2, 2));
    if (extra.size() < 4 + bytes) return std::nullopt;
    if (extra.starts_with("BC") && bytes == 2) return Number(extra, 4, 2) + 1;
    extra.remove_prefix(4 + bytes);
  }
  return std::nullopt;
}

// The file from frame to frame, a look for each block. Nothing where a frame cannot be passed.
class FrameWalk {
 public:
  FrameWalk(ReadPacked read, std::int64_t file_bytes, std::int64_t& looks_left)
      : read_(read), file_bytes_(file_bytes), looks_left_(looks_left), pieces_(file_bytes) {}

  absl::StatusOr<Borders> Run() {
    while (pieces_.at() < file_bytes_) {
      const absl::StatusOr<bool> passed = PassFrame();
      if (!passed.ok()) return passed.status();
      if (!*passed) return Borders();
    }
    return pieces_.Take();
  }

 private:
  // Headers of a block and of what may follow the last one, so that most looks serve two.
  static constexpr std::int64_t kBlockHeaderBytes = 3;
  static constexpr std::int64_t kLookBytes = kBlockHeaderBytes + 4 + kZstdHeaderBytesMax;

  absl::StatusOr<bool> PassFrame() {
    const std::int64_t begin = pieces_.at();
    if (absl::Status status = Look(begin); !status.ok()) return status;
    const std::optional<ZstdFrame> frame = ParseZstdFrame(At(begin));
    if (!frame) return false;
    if (frame->skippable) return pieces_.Add(frame->header_bytes + frame->skipped_bytes, 0);
    if (!frame->text_bytes || *frame->text_bytes > kFrameTextBytesMax) return false;
    std::int64_t at = begin + frame->header_bytes;
    while (true) {
      if (absl::Status status = Look(at); !status.ok()) return status;
      const std::string_view bytes = At(at);
      if (std::ssize(bytes) < kBlockHeaderBytes) return false;
      const std::int64_t header = Number(bytes, 0, kBlockHeaderBytes);
      constexpr std::int64_t kRepeated = 1;
      const std::int64_t type = header >> 1 & 3;
      at += kBlockHeaderBytes + (type == kRepeated ? 1 : header >> 3);
      if ((header & 1) != 0) break;
    }
    return pieces_.Add(at + (frame->has_checksum ? 4 : 0) - begin, *frame->text_bytes);
  }

  // Sees to it that At(at) has a header, as far as the file goes.
  absl::Status Look(std::int64_t at) {
    const bool seen = at >= look_at_ && at + kZstdHeaderBytesMax <= look_at_ + std::ssize(look_);
    if (seen) return absl::OkStatus();
    look_at_ = at;
    look_.clear();
    if (looks_left_ <= 0 || at >= file_bytes_) return absl::OkStatus();
    --looks_left_;
    absl::StatusOr<std::string> bytes = read_(at, kLookBytes);
    if (!bytes.ok()) return bytes.status();
    look_ = *std::move(bytes);
    return absl::OkStatus();
  }
  std::string_view At(std::int64_t at) const {
    return std::string_view(look_).substr(static_cast<std::size_t>(at - look_at_));
  }

  ReadPacked read_;
  const std::int64_t file_bytes_;
  std::int64_t& looks_left_;
  Pieces pieces_;
  std::int64_t look_at_ = 0;
  std::string look_;
};

// What a table at the end of the file says of its frames; nothing where there is none.
absl::StatusOr<Borders> SeekTableBorders(ReadPacked read, std::int64_t file_bytes,
                                         std::int64_t& looks_left) {
  constexpr std::int64_t kFooterBytes = 9;
  constexpr std::int64_t kFooterMagic = 0x8F92EAB1;
  constexpr std::int64_t kHeaderBytes = 8;
  if (file_bytes < kHeaderBytes + kFooterBytes || looks_left < 2) return Borders();
  looks_left -= 2;
  const absl::StatusOr<std::string> footer = read(file_bytes - kFooterBytes, kFooterBytes);
  if (!footer.ok()) return footer.status();
  if (std::ssize(*footer) != kFooterBytes || Number(*footer, 5, 4) != kFooterMagic) {
    return Borders();
  }
  const std::int64_t count = Number(*footer, 0, 4);
  const std::size_t entry_bytes = (static_cast<unsigned char>((*footer)[4]) & 0x80) != 0 ? 12 : 8;
  const std::int64_t table_bytes =
      kHeaderBytes + count * static_cast<std::int64_t>(entry_bytes) + kFooterBytes;
  constexpr std::int64_t kTableBytesMax = 16 << 20;
  if (table_bytes > std::min(file_bytes, kTableBytesMax)) return Borders();
  const absl::StatusOr<std::string> table = read(file_bytes - table_bytes, table_bytes);
  if (!table.ok()) return table.status();
  // The file may have been cut short since its footer was read.
  if (std::ssize(*table) != table_bytes) return Borders();
  const std::optional<ZstdFrame> frame = ParseZstdFrame(*table);
  if (!frame || !frame->skippable || frame->skipped_bytes != table_bytes - kHeaderBytes) {
    return Borders();
  }
  Pieces pieces(file_bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t at = kHeaderBytes + static_cast<std::size_t>(i) * entry_bytes;
    if (!pieces.Add(Number(*table, at, 4), Number(*table, at + 4, 4))) return Borders();
  }
  if (pieces.at() != file_bytes - table_bytes || !pieces.Add(table_bytes, 0)) return Borders();
  return pieces.Take();
}

}  // namespace

absl::StatusOr<Borders> BgzfBorders(ReadPacked read, std::int64_t file_bytes,
                                    std::int64_t& looks_left) {
  // The size of a member's text is its last four bytes, before the header of the next.
  constexpr std::int64_t kTrailerBytes = 4;
  constexpr std::int64_t kLookBytes = kTrailerBytes + 64;
  Pieces pieces(file_bytes);
  std::int64_t member_bytes = 0;
  std::int64_t at = 0;
  while (true) {
    if (--looks_left < 0) return Borders();
    const std::int64_t before = at == 0 ? 0 : kTrailerBytes;
    const absl::StatusOr<std::string> bytes = read(at - before, kLookBytes);
    if (!bytes.ok()) return bytes.status();
    if (std::ssize(*bytes) < before) return Borders();
    if (before > 0 && !pieces.Add(member_bytes, Number(*bytes, 0, kTrailerBytes))) {
      return Borders();
    }
    if (at == file_bytes) return pieces.Take();
    const auto size = BgzfBytes(std::string_view(*bytes).substr(static_cast<std::size_t>(before)));
    if (!size || *size < kTrailerBytes || *size > file_bytes - at) return Borders();
    member_bytes = *size;
    at += member_bytes;
  }
}

absl::StatusOr<Borders> ZstdBorders(ReadPacked read, std::int64_t file_bytes,
                                    std::int64_t& looks_left) {
  absl::StatusOr<Borders> borders = SeekTableBorders(read, file_bytes, looks_left);
  if (!borders.ok() || !borders->empty()) return borders;
  return FrameWalk(read, file_bytes, looks_left).Run();
}

}  // namespace weir
