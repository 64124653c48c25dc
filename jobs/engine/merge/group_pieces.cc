#include "jobs/engine/merge/group_pieces.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/engine/references/reference_block.h"
#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {
namespace {

// Keys are marked so far apart, and about so many of them.
constexpr std::size_t kMarkBytesMin = 16 << 10;
constexpr std::size_t kMarksMax = 512;
// Of the distance of marks, where the first of a block lies is so much further than in the block
// before: multiples of it fill the distance evenly, however many there are (the golden ratio).
constexpr double kMarkPhase = 0.6180339887;
// A piece is at least about so much, less where all that is left is held: slots are to end at about
// the same time. Cutting and merging one takes as long as some kilobytes of each producer.
constexpr std::size_t kPieceBytesMin = 2 << 20;
constexpr std::size_t kLastPieceBytesMin = 256 << 10;
constexpr std::size_t kPieceBytesAProducer = 2 << 10;
// Less is one piece, as it would be soon.
constexpr std::size_t kPiecesWorthCutting = 2;

BlockKind KindOf(std::string_view block) { return static_cast<BlockKind>(block.front()); }

// Takes the record that `left` begins with and returns its key; none where there is no whole one.
std::optional<std::string_view> TakeRecord(std::string_view& left) {
  std::size_t key_bytes = 0;
  std::size_t value_bytes = 0;
  if (!TakeLength(left, key_bytes) || !TakeLength(left, value_bytes) || key_bytes > left.size() ||
      value_bytes > left.size() - key_bytes) {
    return std::nullopt;
  }
  const std::string_view key = left.substr(0, key_bytes);
  left.remove_prefix(key_bytes + value_bytes);
  return key;
}

}  // namespace

// Blocks that are held, then what is left of the section: its source, or the error that it ended
// with.
class GroupPieces::HeldBlocks : public RunSource {
 public:
  HeldBlocks(std::vector<Text> blocks, std::shared_ptr<SpareTexts> spare, RunSource* rest,
             absl::Status error)
      : blocks_(std::move(blocks)),
        spare_(std::move(spare)),
        rest_(rest),
        error_(std::move(error)) {}
  ~HeldBlocks() override {
    spare_->Return(std::move(current_.bytes));
    for (; next_ < blocks_.size(); ++next_) spare_->Return(std::move(blocks_[next_].bytes));
  }

  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (next_ < blocks_.size()) {
      // Nobody looks at the last one any more.
      spare_->Return(std::exchange(current_, std::move(blocks_[next_++])).bytes);
      return absl::Span<const char>(current_.view());
    }
    if (!error_.ok()) return error_;
    if (rest_ != nullptr) return rest_->NextBlock();
    return absl::Span<const char>();
  }

 private:
  std::vector<Text> blocks_;
  const std::shared_ptr<SpareTexts> spare_;
  RunSource* const rest_;
  const absl::Status error_;
  std::size_t next_ = 0;
  Text current_;
};

GroupPieces::GroupPieces(const Sources& sources, std::int64_t held_bytes,
                         std::int64_t held_bytes_max, ReferencedFiles* files, StepContext& context)
    : share_(static_cast<std::size_t>(held_bytes) / std::max<std::size_t>(sources.size(), 1)),
      held_bytes_max_(static_cast<std::size_t>(held_bytes_max)) {
  for (const auto& source : sources) producers_.emplace_back().source = source.get();
  if (files != nullptr && context.refers_to_input()) finder_.emplace(*files, context);
}

absl::StatusOr<bool> GroupPieces::TakeBlock(RunSource& source, std::string& block) {
  Text text{spare_->TakeUsed()};
  absl::StatusOr<bool> more = source.TakeBlock(text.bytes);
  Fit(text);
  block = std::move(text.bytes);
  return more;
}

void GroupPieces::Fit(Text& text) {
  const std::string_view held = text.view();
  if (text.bytes.capacity() / 2 <= held.size()) return;
  std::string fitting = spare_->TakeFor(held.size());
  fitting.assign(held);
  spare_->Return(std::exchange(text, Text{std::move(fitting)}).bytes);
}

bool GroupPieces::Look(Block& block, std::string& last_key) {
  const std::string& bytes = block.text.bytes;
  if (IsOfReferences(bytes)) {
    if (!finder_ || !finder_->Begin(bytes).ok()) return false;
    block.whole_bytes = finder_->block().stands_for_bytes;
    return finder_->FindKey(finder_->block().entries.size() - 1, last_key).ok();
  }
  std::string_view left = std::string_view(bytes).substr(1);
  if (KindOf(bytes) != BlockKind::kWholeRecords || left.empty()) return false;
  std::string_view last;
  while (!left.empty()) {
    const std::optional<std::string_view> key = TakeRecord(left);
    if (!key) return false;
    last = *key;
  }
  last_key = last;
  return true;
}

// The blocks up to the end of a record, and the key of that.
bool GroupPieces::HoldUnit(Producer& producer) {
  Unit& unit = producer.held.emplace_back();
  while (true) {
    Block block;
    const absl::StatusOr<bool> more = TakeBlock(*producer.source, block.text.bytes);
    if (!more.ok()) producer.error = more.status();
    if (!more.ok() || !*more) {
      producer.ended = true;
      const bool whole = more.ok() && unit.blocks.empty();
      if (unit.blocks.empty()) producer.held.pop_back();
      return whole;
    }
    const BlockKind kind = KindOf(block.text.bytes);
    const bool part = kind == BlockKind::kRecordPart || kind == BlockKind::kRecordLastPart;
    block.whole_bytes = block.text.bytes.size();
    const bool known = part || Look(block, unit.last_key);
    producer.held_bytes += block.whole_bytes;
    held_bytes_ += block.whole_bytes;
    unit.blocks.push_back(std::move(block));
    if (held_bytes_ > held_bytes_max_ || !known) return false;
    // Parts end with the last one of their record.
    if (!part) return unit.blocks.size() == 1;
    if (kind == BlockKind::kRecordLastPart) break;
    // A record beyond the limit is for who reads it to refuse.
    if (producer.held_bytes > share_ + static_cast<std::size_t>(2 * kBlockBytesMax)) return false;
  }
  // The key may be longer than the first part: such records are not cut.
  std::string_view left = unit.blocks.front().text.view().substr(1);
  std::size_t key_bytes = 0;
  std::size_t value_bytes = 0;
  if (!TakeLength(left, key_bytes) || !TakeLength(left, value_bytes) || key_bytes > left.size()) {
    return false;
  }
  unit.last_key = left.substr(0, key_bytes);
  return true;
}

bool GroupPieces::Hold(Producer& producer) {
  // More for a key that fills the share: cuts lie between keys.
  const std::size_t most = std::max<std::size_t>(4 * share_, kBlockBytesMax);
  const std::deque<Unit>& held = producer.held;
  const auto is_enough = [&] {
    if (held.size() < 2 || producer.held_bytes < share_) return false;
    return held.front().last_key != held.back().last_key || producer.held_bytes >= most;
  };
  while (!producer.ended && !is_enough()) {
    if (!HoldUnit(producer)) return false;
  }
  return true;
}

void GroupPieces::Take(Producer& producer, Block block, std::vector<Text>& taken) {
  producer.held_bytes -= block.whole_bytes;
  held_bytes_ -= block.whole_bytes;
  piece_bytes_ += block.whole_bytes;
  taken.push_back(std::move(block.text));
}

absl::Status GroupPieces::TakeBefore(Producer& producer, std::string_view end,
                                     std::vector<Text>& taken) {
  while (!producer.held.empty()) {
    Unit& unit = producer.held.front();
    if (unit.last_key < end) {
      for (Block& block : unit.blocks) Take(producer, std::move(block), taken);
      producer.held.pop_front();
      continue;
    }
    Block first;
    const absl::StatusOr<bool> any = Cut(unit.blocks.front(), end, first);
    if (!any.ok()) return any.status();
    if (*any) {
      producer.held_bytes += 1;  // both have a kind
      held_bytes_ += 1;
      Take(producer, std::move(first), taken);
    }
    break;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> GroupPieces::Cut(Block& block, std::string_view end, Block& first) {
  const std::string_view whole = block.text.view();
  if (IsOfReferences(whole)) return CutReferences(block, end, first);
  if (KindOf(whole) == BlockKind::kWholeRecords) return CutRecords(block, end, first);
  return false;
}

absl::StatusOr<bool> GroupPieces::CutReferences(Block& block, std::string_view end, Block& first) {
  if (absl::Status legal = finder_->Begin(block.text.view()); !legal.ok()) return legal;
  const absl::StatusOr<std::size_t> count = finder_->CountBefore(end);
  if (!count.ok()) return count.status();
  // The last one does not come before it, unless the block is not sorted.
  if (*count == 0 || *count == finder_->block().entries.size()) return false;
  Block rest{{spare_->TakeFor(block.text.bytes.size())}};
  first.text.bytes = spare_->TakeFor(block.text.bytes.size());
  first.whole_bytes =
      CutReferenceBlock(finder_->block(), *count, first.text.bytes, rest.text.bytes);
  rest.whole_bytes = block.whole_bytes - first.whole_bytes + 1;
  Fit(first.text);
  Fit(rest.text);
  spare_->Return(std::exchange(block, std::move(rest)).text.bytes);
  return true;
}

// The smaller part is copied, so that neither has much more room than it needs, and what is cut
// again and again is not moved each time.
bool GroupPieces::CutRecords(Block& block, std::string_view end, Block& first) {
  Text& text = block.text;
  const std::string_view whole = text.view();
  std::string_view left = whole.substr(1);
  std::size_t cut = 1;
  while (true) {
    const std::optional<std::string_view> key = TakeRecord(left);
    if (!key || *key >= end) break;
    cut = whole.size() - left.size();
  }
  if (cut == 1) return false;
  const char kind = whole.front();
  const std::size_t rest = whole.size() - cut + 1;  // with its kind
  first.whole_bytes = cut;
  block.whole_bytes = rest;
  if (cut > rest) {
    std::string copied = spare_->TakeFor(rest);
    copied.assign(1, kind).append(whole.substr(cut));
    text.bytes.resize(text.begin + cut);
    first.text = std::exchange(text, Text{std::move(copied)});
    Fit(first.text);
    return true;
  }
  first.text.bytes = spare_->TakeFor(cut);
  first.text.bytes.assign(whole.substr(0, cut));
  text.begin += cut - 1;
  text.bytes[text.begin] = kind;
  Fit(text);
  return true;
}

bool GroupPieces::MarkRecords(const Block& block, std::size_t at, std::size_t step,
                              const std::string* least, std::vector<KeyMark>& marks) {
  const std::string_view whole = block.text.view();
  std::string_view left = whole.substr(1);
  while (true) {
    const std::optional<std::string_view> key = TakeRecord(left);
    if (!key) return true;
    if (least != nullptr && *key >= *least) return false;
    for (; at < whole.size() - left.size(); at += step) marks.push_back({*key, step});
  }
}

bool GroupPieces::MarkReferences(const Block& block, std::size_t at, std::size_t step,
                                 const std::string* least, std::deque<std::string>& found,
                                 std::vector<KeyMark>& marks) {
  // What cannot be found is for the piece's reader to say.
  if (!finder_->Begin(block.text.view()).ok()) return false;
  const std::size_t size = finder_->block().entries.size();
  for (; at < block.whole_bytes; at += step) {
    const std::size_t index = at * size / block.whole_bytes;
    if (!finder_->FindKey(index, found.emplace_back()).ok()) return false;
    if (least != nullptr && found.back() >= *least) return false;
    marks.push_back({found.back(), step});
  }
  return true;
}

std::vector<KeyMark> GroupPieces::MarkKeys(const std::string* least,
                                           std::deque<std::string>& found) {
  const std::size_t step = std::max(kMarkBytesMin, held_bytes_ / kMarksMax);
  std::vector<KeyMark> marks;
  double phase = 0;
  for (const Producer& producer : producers_) {
    bool goes_on = true;
    for (const Unit& unit : producer.held) {
      const Block& first = unit.blocks.front();
      phase += kMarkPhase;
      phase -= std::floor(phase);
      const auto at = static_cast<std::size_t>(phase * static_cast<double>(step));
      if (unit.blocks.size() > 1) {
        goes_on = least == nullptr || unit.last_key < *least;
        std::size_t bytes = 0;
        for (const Block& block : unit.blocks) bytes += block.whole_bytes;
        if (goes_on) marks.push_back({unit.last_key, bytes});
      } else if (IsOfReferences(first.text.view())) {
        goes_on = MarkReferences(first, at, step, least, found, marks);
      } else {
        goes_on = MarkRecords(first, at, step, least, marks);
      }
      if (!goes_on) break;
    }
  }
  return marks;
}

bool GroupPieces::FindCuts() {
  for (Producer& producer : producers_) {
    if (!Hold(producer)) return false;
  }
  // Of the sections that go on, everything before the least of the last keys is held.
  const std::string* least = nullptr;
  for (const Producer& producer : producers_) {
    if (producer.ended) continue;
    const std::string& last = producer.held.back().last_key;
    if (least == nullptr || last < *least) least = &last;
  }
  all_held_ = least == nullptr;
  const std::size_t piece_bytes_min =
      all_held_ ? std::max(kLastPieceBytesMin, kPieceBytesAProducer * producers_.size())
                : kPieceBytesMin;
  if (held_bytes_ >= kPiecesWorthCutting * piece_bytes_min) {
    std::deque<std::string> found;
    for (std::string& cut : ChooseCuts(MarkKeys(least, found), piece_bytes_min)) {
      cuts_.push_back(std::move(cut));
    }
  }
  if (!all_held_) cuts_.push_back(*least);
  return true;
}

void GroupPieces::TakeRest(Sources& piece) {
  all_given_ = true;
  piece.clear();
  for (Producer& producer : producers_) {
    std::vector<Text> blocks;
    for (Unit& unit : producer.held) {
      for (Block& block : unit.blocks) Take(producer, std::move(block), blocks);
    }
    if (blocks.empty() && producer.ended && producer.error.ok()) continue;
    piece.push_back(std::make_unique<HeldBlocks>(
        std::move(blocks), spare_, producer.ended ? nullptr : producer.source, producer.error));
  }
}

void GroupPieces::TakePiece(std::string_view end, Sources& piece) {
  for (Producer& producer : producers_) {
    std::vector<Text> taken;
    // A piece that lacks some records of its keys must not be reduced: it begins with the error.
    absl::Status status = TakeBefore(producer, end, taken);
    if (!status.ok()) {
      taken.clear();
      all_given_ = true;
    } else if (taken.empty()) {
      continue;
    }
    piece.push_back(
        std::make_unique<HeldBlocks>(std::move(taken), spare_, nullptr, std::move(status)));
  }
}

bool GroupPieces::Next(Sources& piece) {
  if (all_given_) return false;
  piece_bytes_ = 0;
  piece.clear();
  while (piece.empty()) {
    if (cuts_.empty()) {
      // The end, or a group that is larger than what is held.
      const bool goes_on = !all_held_ && std::exchange(any_taken_, false);
      if (goes_on && FindCuts()) continue;
      TakeRest(piece);
      break;
    }
    TakePiece(cuts_.front(), piece);
    cuts_.pop_front();
    any_taken_ = any_taken_ || !piece.empty();
  }
  return true;
}

}  // namespace weir
