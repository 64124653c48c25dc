// What slots hold for pieces that wait, where one slot stands still.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/engine/merge/merge_on_slots.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/testing/memory_steps.h"

namespace weir {
namespace {

using testing::MemoryRun;
using testing::RecordingContext;

constexpr std::int64_t kBlockBytes = 256 << 10;

// Bytes that are held at a time.
class HeldBytes {
 public:
  void Add(std::int64_t bytes) {
    const std::int64_t now = now_ += bytes;
    std::int64_t most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  std::int64_t now() const { return now_; }
  std::int64_t most() const { return most_; }

 private:
  std::atomic<std::int64_t> now_ = 0;
  std::atomic<std::int64_t> most_ = 0;
};

// Stands still until so much is held, and a while longer: others would go on if they could.
void StandStill(const HeldBytes& held, std::int64_t bytes) {
  while (held.now() < bytes) std::this_thread::yield();
  for (int i = 0; i < 20'000; ++i) std::this_thread::yield();
}

class CountedRun : public RunSink {
 public:
  explicit CountedRun(HeldBytes& held) : held_(held) {}
  absl::Status BeginSection(int) override { return absl::OkStatus(); }
  absl::Status Append(std::string_view, std::int64_t) override { return absl::OkStatus(); }
  void Ready(int consumer, std::string_view block, std::int64_t records,
             ReadyBlock& ready) override {
    held_.Add(static_cast<std::int64_t>(block.size()));
    RunSink::Ready(consumer, block, records, ready);
  }
  absl::Status AppendReady(const ReadyBlock& block) override {
    held_.Add(-block.raw_bytes);
    return absl::OkStatus();
  }

 private:
  HeldBytes& held_;
};

constexpr int kBlocksOfPiece = 40;  // more than twice what a piece may hold

TEST(PieceMemory, BlocksThatWaitAreFew) {
  for (const int slots : {2, 4}) {
    RecordingContext context(slots);
    HeldBytes held;
    CountedRun run(held);
    SharedRun shared{run};
    const std::string block(kBlockBytes, 'b');
    const absl::Status status = MakePieces(8, context, [&](int piece, PieceTurn& turn) {
      if (piece == 0) StandStill(held, (slots - 1) * kHeldPieceBytes);
      PieceRunSink sink(shared, turn);
      absl::Status written = sink.BeginSection(piece);
      for (int i = 0; i < kBlocksOfPiece && written.ok(); ++i) written = sink.Append(block, 1);
      return written.ok() ? sink.Finish() : written;
    });
    EXPECT_TRUE(status.ok()) << status;
    // Who has its turn may still hold it all.
    EXPECT_LE(held.most(), slots * (kHeldPieceBytes + kBlockBytes));
    EXPECT_EQ(held.now(), 0);
  }
}

class CountedPart : public PartSink {
 public:
  explicit CountedPart(HeldBytes& held) : held_(held) {}
  absl::Status Append(std::string_view bytes, std::int64_t) override {
    held_.Add(-static_cast<std::int64_t>(bytes.size()));
    return absl::OkStatus();
  }

 private:
  HeldBytes& held_;
};

TEST(PieceMemory, TextThatWaitsIsLittle) {
  for (const int slots : {2, 4}) {
    RecordingContext context(slots);
    HeldBytes held;
    CountedPart part(held);
    SharedPart shared{part, {}};
    const std::string text(kBlockBytes, 't');
    const absl::Status status = MakePieces(8, context, [&](int piece, PieceTurn& turn) {
      if (piece == 0) StandStill(held, (slots - 1) * kHeldPieceBytes);
      PiecePartSink sink(shared, turn);
      absl::Status written;
      for (int i = 0; i < kBlocksOfPiece && written.ok(); ++i) {
        held.Add(kBlockBytes);
        written = sink.Append(text, 1);
      }
      return written.ok() ? sink.Finish() : written;
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_LE(held.most(), slots * (kHeldPieceBytes + kBlockBytes));
    EXPECT_EQ(held.now(), 0);
  }
}

// Small pieces are left behind by who made them, until pieces hold enough: one slot that stands
// still does not keep the others from going on.
TEST(PieceMemory, SlotsGoOnBehindOneThatStandsStill) {
  constexpr int kSmallPieces = 100;
  for (const int slots : {2, 4}) {
    RecordingContext context(slots);
    HeldBytes held;
    CountedPart part(held);
    SharedPart shared{part, {}};
    const std::string text(kBlockBytes, 't');
    const absl::Status status = MakePieces(kSmallPieces, context, [&](int piece, PieceTurn& turn) {
      // All that pieces may hold, of more pieces than there are slots.
      if (piece == 0) StandStill(held, slots * kHeldPieceBytes);
      PiecePartSink sink(shared, turn);
      held.Add(kBlockBytes);
      absl::Status written = sink.Append(text, 1);
      return written.ok() ? sink.Finish() : written;
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_LE(held.most(), slots * (kHeldPieceBytes + kBlockBytes));
    EXPECT_EQ(held.now(), 0);
  }
}

// Pieces that wait with as much as they may hold, and are not needed any more.
TEST(PieceMemory, WhoWaitsIsWokenWhenTheStepEnds) {
  for (const bool cancel : {false, true}) {
    RecordingContext context(4);
    HeldBytes held;
    CountedPart part(held);
    SharedPart shared{part, {}};
    const std::string text(kBlockBytes, 't');
    const absl::Status status = MakePieces(100, context, [&](int piece, PieceTurn& turn) {
      if (piece == 0) {
        StandStill(held, 3 * kHeldPieceBytes);
        if (!cancel) return absl::DataLossError("piece 0");
        context.cancel = true;
        return absl::OkStatus();
      }
      PiecePartSink sink(shared, turn);
      absl::Status written;
      for (int i = 0; i < kBlocksOfPiece && written.ok(); ++i) {
        held.Add(kBlockBytes);
        written = sink.Append(text, 1);
      }
      return written.ok() ? sink.Finish() : written;
    });
    EXPECT_EQ(status.code(), cancel ? absl::StatusCode::kCancelled : absl::StatusCode::kDataLoss);
    // Nothing behind the error was handed on.
    if (!cancel) {
      EXPECT_GE(held.now(), 3 * kHeldPieceBytes);
    }
  }
}

// A section of sorted pairs, counted as it is read.
class CountedSource : public RunSource {
 public:
  CountedSource(int records, HeldBytes& held) : left_(records), held_(held) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (left_ == 0) return absl::Span<const char>();
    MemoryRun run;
    SectionWriter writer(run);
    absl::Status status = writer.Begin(0);
    // One block.
    for (int i = 0; i < 200 && left_ > 0 && status.ok(); ++i) {
      status = writer.Add(absl::StrCat(10'000'000 - left_--), std::string(1'000, 'v'));
    }
    if (status.ok()) status = writer.Finish();
    if (!status.ok()) return status;
    block_ = run.sections().at(0).at(0);
    held_.Add(static_cast<std::int64_t>(block_.size()));
    return absl::Span<const char>(block_);
  }

 private:
  int left_;
  HeldBytes& held_;
  std::string block_;
};

std::int64_t BytesOf(const GroupPieces::Sources& piece) {
  std::int64_t bytes = 0;
  for (const auto& source : piece) {
    for (auto block = source->NextBlock(); block.ok() && !block->empty();
         block = source->NextBlock()) {
      bytes += static_cast<std::int64_t>(block->size());
    }
  }
  return bytes;
}

// Slots that could each take a piece take no more than the step may use for them.
TEST(PieceMemory, PiecesOfSectionsAreFew) {
  constexpr std::int64_t kMemory = 16 << 20;
  RecordingContext context(16, kMemory);
  HeldBytes held;
  GroupPieces::Sources sources;
  for (int i = 0; i < 2; ++i) sources.push_back(std::make_unique<CountedSource>(20'000, held));
  std::atomic<int> num_pieces = 0;
  const absl::Status status =
      MergeOnSlots(sources, context, [&](const GroupPieces::Sources& piece, PieceTurn& turn) {
        if (num_pieces++ == 0) StandStill(held, kMemory / 8);
        const std::int64_t bytes = BytesOf(piece);
        const bool mine = turn.Await();
        held.Add(-bytes);
        return mine ? absl::OkStatus() : absl::AbortedError("not mine");
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(num_pieces, 10);
  EXPECT_LE(held.most(), kMemory / 4 + kBlockBytesMax);
}

// Of very many sections two blocks each would be more than that.
TEST(PieceMemory, TooManySectionsAreNotCut) {
  constexpr std::int64_t kMemory = 16 << 20;
  RecordingContext context(4, kMemory);
  HeldBytes held;
  GroupPieces::Sources sources;
  for (int i = 0; i < 64; ++i) sources.push_back(std::make_unique<CountedSource>(600, held));
  std::int64_t held_first = 0;
  int num_pieces = 0;
  const absl::Status status =
      MergeOnSlots(sources, context, [&](const GroupPieces::Sources& piece, PieceTurn&) {
        ++num_pieces;
        held_first = held.now();
        EXPECT_GT(BytesOf(piece), 64 * 600 * 1'000);
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(num_pieces, 1);
  EXPECT_LE(held_first, kMemory / 4 + kBlockBytesMax);
}

}  // namespace
}  // namespace weir
