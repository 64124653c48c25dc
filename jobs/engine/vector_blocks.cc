#include "jobs/engine/vector_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

struct BlockHead {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t places = 0;
};
constexpr std::size_t kHeadBytes = sizeof(BlockHead);

// Blocks of this size keep all buffers of a step with many inputs small.
constexpr std::int64_t kFillBytes = 256 << 10;
// Untouched places need no bytes; runs count records of a block up to 2^32.
constexpr std::int64_t kUntouchedPlacesMax = std::int64_t{1} << 30;

std::int64_t BlockPlaces(const VectorForm& form) {
  return std::max<std::int64_t>(1, kFillBytes / form.place_bytes);
}

template <typename... Parts>
absl::Status Damaged(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat("section of a run is damaged: ", parts...));
}

}  // namespace

VectorWriter::VectorWriter(RunSink& sink, VectorForm form,
                           absl::Span<const double> consumer_key_end)
    : sink_(sink), form_(form), block_places_(BlockPlaces(form)) {
  std::int64_t before = 0;
  for (const double end : consumer_key_end) {
    const std::int64_t place = std::llround(end * static_cast<double>(form.places));
    consumer_end_.push_back(before = std::clamp(place, before, form.places));
  }
  consumer_end_.back() = form.places;
}

absl::Status VectorWriter::Add(const VectorSlice& slice) {
  VectorSlice left = slice;
  while (left.begin < left.end) {
    while (left.begin >= consumer_end_[consumer_]) {
      if (absl::Status status = Flush(); !status.ok()) return status;
      ++consumer_;
      begun_ = false;
    }
    VectorSlice part = left;
    part.end = std::min(left.end, consumer_end_[consumer_]);
    if (absl::Status status = AddToSection(part); !status.ok()) return status;
    left.begin = part.end;
    if (left.values != nullptr) left.values += part.size() * form_.place_bytes;
  }
  return absl::OkStatus();
}

absl::Status VectorWriter::AddToSection(const VectorSlice& slice) {
  VectorSlice left = slice;
  while (left.begin < left.end) {
    const bool untouched = left.values == nullptr;
    const std::int64_t most = untouched ? kUntouchedPlacesMax : block_places_;
    const bool follows = left.begin == filled_.end && filled_.size() < most &&
                         untouched == (filled_.values == nullptr);
    if (filled_.size() > 0 && !follows) {
      if (absl::Status status = Flush(); !status.ok()) return status;
    }
    if (filled_.size() == 0) {
      block_.assign(kHeadBytes, '\0');
      filled_ = {left.begin, left.begin, left.values};
    }
    const std::int64_t count = std::min(left.size(), most - filled_.size());
    if (!untouched) {
      const std::int64_t bytes = count * form_.place_bytes;
      block_.append(left.values, static_cast<std::size_t>(bytes));
      left.values += bytes;
    }
    filled_.end += count;
    left.begin += count;
  }
  return absl::OkStatus();
}

absl::Status VectorWriter::Flush() {
  if (filled_.size() == 0) return absl::OkStatus();
  if (!begun_) {
    begun_ = true;
    absl::Status status = sink_.BeginSection(static_cast<int>(consumer_));
    if (!status.ok()) return status;
  }
  const BlockHead head{filled_.begin, filled_.size(), form_.places};
  std::memcpy(block_.data(), &head, kHeadBytes);
  places_written_ += filled_.size();
  absl::Status status = sink_.Append(block_, filled_.size());
  filled_ = {};
  return status;
}

absl::StatusOr<bool> VectorReader::Next() {
  slice_ = {read_to_, read_to_, nullptr};
  const absl::StatusOr<absl::Span<const char>> block = source_.NextBlock();
  if (!block.ok()) return block.status();
  if (block->empty()) return false;
  BlockHead head;
  if (block->size() < kHeadBytes) return Damaged("a block of ", block->size(), " bytes");
  std::memcpy(&head, block->data(), kHeadBytes);
  if (head.places != form_.places) {
    return Damaged("an element of ", head.places, " places, expected ", form_.places);
  }
  if (head.first < read_to_ || head.count < 1 || head.count > form_.places ||
      head.first > form_.places - head.count) {
    return Damaged(head.count, " places from place ", head.first, " on, behind place ", read_to_,
                   " of ", form_.places);
  }
  const auto bytes = static_cast<std::int64_t>(block->size() - kHeadBytes);
  // Counted before it is multiplied: what is said need not be true.
  const bool whole =
      head.count <= bytes / form_.place_bytes && head.count * form_.place_bytes == bytes;
  if (bytes != 0 && !whole) {
    return Damaged(bytes, " bytes for ", head.count, " places of ", form_.place_bytes, " bytes");
  }
  slice_ = {head.first, head.first + head.count, nullptr};
  read_to_ = slice_.end;
  if (bytes == 0) return true;
  values_.resize((static_cast<std::size_t>(bytes) + sizeof(std::max_align_t) - 1) /
                 sizeof(std::max_align_t));
  std::memcpy(values_.data(), block->data() + kHeadBytes, static_cast<std::size_t>(bytes));
  slice_.values = reinterpret_cast<const char*>(values_.data());
  return true;
}

void VectorReader::Drop(std::int64_t count) {
  slice_.begin += count;
  if (slice_.values != nullptr) slice_.values += count * form_.place_bytes;
}

}  // namespace weir
