#include "jobs/engine/pieces/piece_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/testing/memory_steps.h"

namespace weir {
namespace {

using testing::MemoryPart;
using testing::MemoryRun;
using testing::RecordingContext;

constexpr int kSlots[] = {1, 2, 3, 7};

TEST(MakePieces, HandsOnInOrderWhateverTheSlots) {
  for (const int slots : kSlots) {
    RecordingContext context(slots);
    std::vector<int> order;
    const absl::Status status = MakePieces(100, context, [&](int piece, PieceTurn& turn) {
      EXPECT_TRUE(turn.Await());
      order.push_back(piece);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(MakePieces, NoPiecesAndFewerThanSlots) {
  for (const int num_pieces : {0, 1, 2}) {
    RecordingContext context(7);
    std::atomic<int> made = 0;
    EXPECT_TRUE(MakePieces(num_pieces, context, [&](int, PieceTurn&) {
                  ++made;
                  return absl::OkStatus();
                }).ok());
    EXPECT_EQ(made, num_pieces);
  }
}

TEST(MakePieces, OnAsManySlotsAsAreAskedFor) {
  RecordingContext context(7);
  std::atomic<int> at_once = 0;
  std::atomic<int> made = 0;
  const absl::Status status = MakePieces(
      100, context,
      [&](int, PieceTurn& turn) {
        EXPECT_LE(++at_once, 2);
        turn.Await();
        ++made;
        --at_once;
        return absl::OkStatus();
      },
      2);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(made, 100);
}

// As if one slot had made them all: what comes before the error is handed on, nothing behind it.
TEST(MakePieces, TheLowestErrorCounts) {
  for (const int slots : kSlots) {
    RecordingContext context(slots);
    std::vector<int> handed_on;
    const absl::Status status = MakePieces(50, context, [&](int piece, PieceTurn& turn) {
      // Later ones fail sooner.
      if (piece >= 20 && piece != 23) return absl::DataLossError(absl::StrCat("piece ", piece));
      if (turn.Await()) handed_on.push_back(piece);
      return absl::OkStatus();
    });
    EXPECT_EQ(status, absl::DataLossError("piece 20"));
    EXPECT_EQ(handed_on.size(), 20U);
  }
}

TEST(MakePieces, WhatIsThrownEndsTheOthersToo) {
  for (const int slots : kSlots) {
    RecordingContext context(slots);
    std::string thrown;
    try {
      MakePieces(50, context, [&](int piece, PieceTurn& turn) -> absl::Status {
        if (piece >= 5) throw std::runtime_error(absl::StrCat("piece ", piece));
        EXPECT_TRUE(turn.Await());
        return absl::OkStatus();
      }).IgnoreError();
    } catch (const std::runtime_error& error) {
      thrown = error.what();
    }
    EXPECT_EQ(thrown, "piece 5");
  }
}

// By whoever hands it on: memory may be missing there, too, and others wait for that turn.
TEST(MakePieces, WhatIsThrownWhileItIsHandedOnEndsTheOthersToo) {
  for (const int slots : kSlots) {
    RecordingContext context(slots);
    std::atomic<int> handed_on = 0;
    EXPECT_THROW(MakePieces(50, context,
                            [&](int piece, PieceTurn& turn) -> absl::Status {
                              turn.Leave(1, [&, piece]() -> absl::Status {
                                if (piece == 5) throw std::bad_alloc();
                                ++handed_on;
                                return absl::OkStatus();
                              });
                              return absl::OkStatus();
                            })
                     .IgnoreError(),
                 std::bad_alloc);
    EXPECT_EQ(handed_on, 5);
  }
}

TEST(MakePieces, EndsWhenTheJobDoes) {
  RecordingContext context(3);
  std::atomic<int> made = 0;
  const absl::Status status = MakePieces(1000, context, [&](int piece, PieceTurn&) {
    ++made;
    if (piece == 10) context.cancel = true;
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_LT(made, 20);
}

TEST(RunOnSlots, WhatOneThrowsStopsTheSlotsAboveIt) {
  RecordingContext context(3);
  std::atomic<int> stopped = 0;
  EXPECT_THROW(RunOnSlots(context,
                          [&](int slot, const std::function<bool()>& stop) -> absl::Status {
                            if (slot == 0) throw std::runtime_error("user code");
                            for (int i = 0; i < 5000 && !stop(); ++i) {
                              std::this_thread::sleep_for(std::chrono::milliseconds(1));
                            }
                            stopped += stop() ? 1 : 0;
                            return absl::OkStatus();
                          })
                   .IgnoreError(),
               std::runtime_error);
  EXPECT_EQ(stopped, 2);
}

// Some pieces are larger than what may be held, and sections go on from piece to piece.
TEST(PieceSinks, TheSameWhateverTheSlots) {
  const auto block_of = [](int piece, int block) {
    return std::string(piece % 5 == 4 ? 1 << 20 : 100, static_cast<char>('a' + block % 26));
  };
  std::map<int, std::vector<std::string>> sections;
  std::string text;
  for (const int slots : kSlots) {
    RecordingContext context(slots);
    MemoryRun run;
    MemoryPart part;
    SharedRun shared{run};
    SharedPart shared_part{part, {}};
    const absl::Status status = MakePieces(12, context, [&](int piece, PieceTurn& turn) {
      PieceRunSink sink(shared, turn);
      PiecePartSink part_sink(shared_part, turn);
      absl::Status written = sink.BeginSection(piece / 3);
      for (int block = 0; block < 6 && written.ok(); ++block) {
        if (piece == 8 && block == 4) written = sink.BeginSection(3);
        if (written.ok()) written = sink.Append(block_of(piece, block), 1);
        if (written.ok() && block % 2 == 0) written = part_sink.Append(block_of(piece, block), 1);
        if (written.ok() && block % 2 == 1) {
          std::string owned = block_of(piece, block);
          written = part_sink.AppendText(owned, 1);
          EXPECT_TRUE(owned.empty());
        }
      }
      if (written.ok()) written = sink.Finish();
      return written.ok() ? part_sink.Finish() : written;
    });
    EXPECT_TRUE(status.ok()) << status;
    if (slots == 1) {
      sections = run.sections();
      text = part.text;
    }
    EXPECT_EQ(run.sections(), sections);
    EXPECT_EQ(part.text, text);
  }
  EXPECT_EQ(sections.size(), 4U);
}

// What was left is handed on by who ends the turn before, in the order of the pieces, each once.
TEST(MakePieces, HandsOnWhatWasLeftInOrder) {
  for (const int slots : kSlots) {
    RecordingContext context(slots);
    std::vector<int> order;
    const absl::Status status = MakePieces(200, context, [&](int piece, PieceTurn& turn) {
      if (piece % 7 == 3) {
        EXPECT_TRUE(turn.Await());
      }
      turn.Leave(1, [&order, piece] {
        order.push_back(2 * piece);
        return absl::OkStatus();
      });
      turn.Leave(0, [&order, piece] {
        order.push_back(2 * piece + 1);
        return absl::OkStatus();
      });
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    ASSERT_EQ(order.size(), 400U);
    for (int i = 0; i < 400; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

// An error of what was left ends the step at its piece.
TEST(MakePieces, AnErrorOfWhatWasLeftCountsAsItsPieces) {
  for (const int slots : kSlots) {
    RecordingContext context(slots);
    std::vector<int> handed_on;
    const absl::Status status = MakePieces(200, context, [&](int piece, PieceTurn& turn) {
      if (piece > 60 && piece % 2 == 0) return absl::DataLossError(absl::StrCat("piece ", piece));
      turn.Leave(1, [&handed_on, piece] {
        if (piece == 41) return absl::ResourceExhaustedError("full");
        handed_on.push_back(piece);
        return absl::OkStatus();
      });
      return absl::OkStatus();
    });
    EXPECT_EQ(status, absl::ResourceExhaustedError("full"));
    EXPECT_EQ(handed_on.size(), 41U);
  }
}

class FullDisk : public RunSink {
 public:
  absl::Status BeginSection(int) override { return absl::OkStatus(); }
  absl::Status Append(std::string_view, std::int64_t) override {
    return ++blocks == 5 ? absl::ResourceExhaustedError("full") : absl::OkStatus();
  }
  int blocks = 0;
};

TEST(PieceSinks, AnErrorOfTheSinkEndsTheStep) {
  for (const int slots : kSlots) {
    RecordingContext context(slots);
    FullDisk disk;
    SharedRun shared{disk};
    const absl::Status status = MakePieces(100, context, [&](int piece, PieceTurn& turn) {
      PieceRunSink sink(shared, turn);
      absl::Status written = sink.BeginSection(piece);
      if (written.ok()) written = sink.Append("block", 1);
      return written.ok() ? sink.Finish() : written;
    });
    EXPECT_EQ(status, absl::ResourceExhaustedError("full"));
    EXPECT_EQ(disk.blocks, 5);
  }
}

}  // namespace
}  // namespace weir
