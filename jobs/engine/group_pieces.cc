#include "jobs/engine/group_pieces.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {
namespace {

// Blocks that are held, then what is left of the section: its source, or the error that it ended
// with.
class HeldBlocks : public RunSource {
 public:
  HeldBlocks(std::vector<std::string> blocks, std::shared_ptr<SpareTexts> spare, RunSource* rest,
             absl::Status error)
      : blocks_(std::move(blocks)),
        spare_(std::move(spare)),
        rest_(rest),
        error_(std::move(error)) {}
  ~HeldBlocks() override {
    spare_->Return(std::move(current_));
    for (; next_ < blocks_.size(); ++next_) spare_->Return(std::move(blocks_[next_]));
  }

  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (next_ < blocks_.size()) {
      // Nobody looks at the last one any more.
      spare_->Return(std::exchange(current_, std::move(blocks_[next_++])));
      return absl::Span<const char>(current_);
    }
    if (!error_.ok()) return error_;
    if (rest_ != nullptr) return rest_->NextBlock();
    return absl::Span<const char>();
  }

 private:
  std::vector<std::string> blocks_;
  const std::shared_ptr<SpareTexts> spare_;
  RunSource* const rest_;
  const absl::Status error_;
  std::size_t next_ = 0;
  std::string current_;
};

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

GroupPieces::GroupPieces(const Sources& sources, std::int64_t held_bytes,
                         std::int64_t held_bytes_max)
    : share_(static_cast<std::size_t>(held_bytes) / std::max<std::size_t>(sources.size(), 1)),
      held_bytes_max_(static_cast<std::size_t>(held_bytes_max)) {
  for (const auto& source : sources) producers_.emplace_back().source = source.get();
}

// Without much room beside what is in it.
absl::StatusOr<bool> GroupPieces::TakeBlock(RunSource& source, std::string& block) {
  block = spare_->TakeUsed();
  absl::StatusOr<bool> more = source.TakeBlock(block);
  if (block.capacity() / 2 > block.size()) {
    std::string fitting = spare_->TakeFor(block.size());
    fitting.assign(block);
    spare_->Return(std::exchange(block, std::move(fitting)));
  }
  return more;
}

// The blocks up to the end of a record, and the key of that.
bool GroupPieces::HoldUnit(Producer& producer) {
  Unit& unit = producer.held.emplace_back();
  while (true) {
    std::string block;
    const absl::StatusOr<bool> more = TakeBlock(*producer.source, block);
    if (!more.ok()) producer.error = more.status();
    if (!more.ok() || !*more) {
      producer.ended = true;
      const bool whole = more.ok() && unit.blocks.empty();
      if (unit.blocks.empty()) producer.held.pop_back();
      return whole;
    }
    const std::string& held = unit.blocks.emplace_back(std::move(block));
    producer.held_bytes += held.size();
    held_bytes_ += held.size();
    if (held_bytes_ > held_bytes_max_) return false;
    if (KindOf(held) == BlockKind::kRecordPart) {
      // A record beyond the limit is for who reads it to refuse.
      if (producer.held_bytes > share_ + static_cast<std::size_t>(2 * kBlockBytesMax)) return false;
      continue;
    }
    break;
  }
  // Of a long record the key may be longer than its first block: such ones are not cut.
  std::string_view left = std::string_view(unit.blocks.front()).substr(1);
  if (KindOf(unit.blocks.back()) == BlockKind::kRecordLastPart) {
    std::size_t key_bytes = 0;
    std::size_t value_bytes = 0;
    if (!TakeLength(left, key_bytes) || !TakeLength(left, value_bytes) || key_bytes > left.size()) {
      return false;
    }
    unit.last_key = left.substr(0, key_bytes);
    return true;
  }
  if (unit.blocks.size() > 1 || left.empty()) return false;
  std::string_view last;
  while (!left.empty()) {
    const std::optional<std::string_view> key = TakeRecord(left);
    if (!key) return false;
    last = *key;
  }
  unit.last_key = last;
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

void GroupPieces::Take(Producer& producer, std::string block, std::vector<std::string>& taken) {
  producer.held_bytes -= block.size();
  held_bytes_ -= block.size();
  piece_bytes_ += block.size();
  taken.push_back(std::move(block));
}

void GroupPieces::TakeBefore(Producer& producer, std::string_view end,
                             std::vector<std::string>& taken) {
  while (!producer.held.empty()) {
    Unit& unit = producer.held.front();
    if (unit.last_key < end) {
      for (std::string& block : unit.blocks) Take(producer, std::move(block), taken);
      producer.held.pop_front();
      continue;
    }
    std::string& block = unit.blocks.front();
    if (KindOf(block) != BlockKind::kWholeRecords) return;
    std::string_view left = std::string_view(block).substr(1);
    std::size_t begin = block.size() - left.size();
    while (true) {
      const std::optional<std::string_view> key = TakeRecord(left);
      if (!key || *key >= end) break;
      begin = block.size() - left.size();
    }
    if (begin == 1) return;
    // The smaller one is copied, so that neither has much more room than it needs.
    std::string other = spare_->TakeFor(std::min(begin, block.size() - begin + 1));
    if (begin >= block.size() / 2) {
      other.assign(block, 0, 1).append(block, begin);
      block.resize(begin);
      std::swap(block, other);
    } else {
      other.assign(block, 0, begin);
      block.erase(1, begin - 1);
    }
    producer.held_bytes += 1;  // both have a kind
    held_bytes_ += 1;
    Take(producer, std::move(other), taken);
    return;
  }
}

void GroupPieces::TakeRest(Sources& piece) {
  all_given_ = true;
  piece.clear();
  for (Producer& producer : producers_) {
    std::vector<std::string> blocks;
    for (Unit& unit : producer.held) {
      for (std::string& block : unit.blocks) Take(producer, std::move(block), blocks);
    }
    piece.push_back(std::make_unique<HeldBlocks>(
        std::move(blocks), spare_, producer.ended ? nullptr : producer.source, producer.error));
  }
}

bool GroupPieces::Next(Sources& piece) {
  if (all_given_) return false;
  piece_bytes_ = 0;
  for (Producer& producer : producers_) {
    if (Hold(producer)) continue;
    TakeRest(piece);
    return true;
  }
  // Of the sections that go on, everything before the least of the last keys is held.
  const std::string* least = nullptr;
  for (const Producer& producer : producers_) {
    if (producer.ended) continue;
    const std::string& last = producer.held.back().last_key;
    if (least == nullptr || last < *least) least = &last;
  }
  if (least == nullptr) {
    TakeRest(piece);
    return true;
  }
  const std::string end = *least;
  bool any = false;
  piece.clear();
  for (Producer& producer : producers_) {
    std::vector<std::string> taken;
    TakeBefore(producer, end, taken);
    any = any || !taken.empty();
    piece.push_back(
        std::make_unique<HeldBlocks>(std::move(taken), spare_, nullptr, absl::OkStatus()));
  }
  if (!any) TakeRest(piece);
  return true;
}

namespace {

// Bytes of the pieces that are being reduced.
class PiecesUnderWay {
 public:
  explicit PiecesUnderWay(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Waits until there is room for one more.
  void AwaitRoom() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return bytes_ <= most_bytes_; });
  }

  // A piece, for as long as it exists.
  class Piece {
   public:
    explicit Piece(PiecesUnderWay& pieces) : pieces_(pieces) {}
    ~Piece() { pieces_.Add(-bytes_); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    void Begin(std::int64_t bytes) { pieces_.Add(bytes_ = bytes); }

   private:
    PiecesUnderWay& pieces_;
    std::int64_t bytes_ = 0;
  };

 private:
  void Add(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    room_.notify_all();
  }

  const std::int64_t most_bytes_;
  std::mutex mutex_;  // guards all below
  std::condition_variable room_;
  std::int64_t bytes_ = 0;
};

}  // namespace

absl::Status MergeOnSlots(
    const GroupPieces::Sources& sources, StepContext& context,
    const std::function<absl::Status(const GroupPieces::Sources& piece, PieceTurn& turn)>& reduce) {
  const std::int64_t most_bytes =
      context.memory_bytes() > 0 ? context.memory_bytes() / 4 : kGroupPiecesBytes;
  // Half for the pieces, half for what the next one is cut from.
  GroupPieces pieces(sources, std::min(kHeldGroupBytes, most_bytes / 4), most_bytes / 2);
  PiecesUnderWay under_way(most_bytes / 2);
  PieceTurns cuts;
  return MakePiecesUntil(context, [&](int piece, PieceTurn& turn) -> absl::StatusOr<bool> {
    PiecesUnderWay::Piece mine(under_way);
    GroupPieces::Sources cut;
    if (!cuts.Await(piece)) return false;
    bool more = false;
    try {
      under_way.AwaitRoom();
      more = pieces.Next(cut);
    } catch (...) {
      cuts.EndTurn(piece, absl::AbortedError("cannot cut"));
      throw;
    }
    if (more) mine.Begin(pieces.piece_bytes());
    cuts.EndTurn(piece, more ? absl::OkStatus() : absl::AbortedError("all pieces were given"));
    if (!more) return false;
    absl::Status reduced = reduce(cut, turn);
    if (!reduced.ok()) return reduced;
    return true;
  });
}

}  // namespace weir
