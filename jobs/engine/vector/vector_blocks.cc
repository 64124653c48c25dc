#include "jobs/engine/vector/vector_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "jobs/engine/vector/vector_block.h"

namespace weir {
namespace {

// Blocks of this size keep all buffers of a step with many inputs small.
constexpr std::int64_t kFillBytes = 256 << 10;
// Untouched places need no bytes; runs count records of a block up to 2^32.
constexpr std::int64_t kUntouchedPlacesMax = std::int64_t{1} << 30;

std::int64_t BlockPlaces(const VectorForm& form) {
  return std::max<std::int64_t>(1, kFillBytes / form.place_bytes);
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
      block_.assign(sizeof(VectorBlockHead), '\0');
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
  const VectorBlockHead head{filled_.begin, filled_.size(), form_.places};
  std::memcpy(block_.data(), &head, sizeof(head));
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
  const absl::StatusOr<VectorBlockHead> head = ReadVectorBlock(*block, form_.place_bytes, read_to_);
  if (!head.ok()) return head.status();
  if (head->content != 0) {
    return absl::DataLossError(
        absl::StrCat("section of a run is damaged: a block of a loop, content ", head->content));
  }
  if (head->places != form_.places) {
    return absl::DataLossError(absl::StrCat("section of a run is damaged: an element of ",
                                            head->places, " places, expected ", form_.places));
  }
  slice_ = {head->first, head->first + head->count, nullptr};
  read_to_ = slice_.end;
  const absl::Span<const char> values = ValuesOfVectorBlock(*block);
  if (values.empty()) return true;
  values_.resize((values.size() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  std::memcpy(values_.data(), values.data(), values.size());
  slice_.values = reinterpret_cast<const char*>(values_.data());
  return true;
}

void VectorReader::Drop(std::int64_t count) {
  slice_.begin += count;
  if (slice_.values != nullptr) slice_.values += count * form_.place_bytes;
}

}  // namespace weir
