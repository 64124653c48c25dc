// The source's programs: sizes, refusals, and free order against first in first out (the document's
// open question).

#include "planner/load/source_program.h"

#include <gtest/gtest.h>

#include "planner/load/solve_layer.h"
#include "tests/unit/planner_load/random_layer.h"

namespace weir::planner::load {
namespace {

TEST(SourceProgramTest, HasTheVariablesOfSection41) {
  Layer layer;
  layer.num_senders = 4;
  layer.channels = 2;
  layer.load_bytes = 1e6;
  layer.channel_seconds_per_byte = 1;
  layer.compute = ComputeFunction::Chords(1, 0, layer.load_bytes);
  layer.next_fractions = {0.5, 0.25, 0.25};
  const LinearProgram program = BuildSourceProgram(*ScaleLayer(layer));
  // x, t and beta of the intervals in which a sender is ready: half of n * n * r and the diagonal.
  EXPECT_EQ(program.num_columns(), 4 + 5 + 10 * 3);
}

TEST(SourceProgramTest, FreeOrderIsNeverBetterThanFirstInFirstOut) {
  RandomLayers random(31);
  int compared = 0;
  while (compared < 12) {
    const Layer layer = random.Next(4, 3);
    if (layer.kind != LayerKind::kMapper || layer.mapper_startup_s == 0) continue;
    ++compared;
    const absl::StatusOr<LayerSolution> fifo = SolveLayer(layer, LayerMethod::kPaper);
    const absl::StatusOr<LayerSolution> free = SolveLayer(layer, LayerMethod::kPaperFreeOrder);
    ASSERT_TRUE(fifo.ok()) << fifo.status();
    ASSERT_TRUE(free.ok()) << free.status();
    EXPECT_NEAR(free->makespan_s / fifo->makespan_s, 1, 1e-6);
  }
}

TEST(SourceProgramTest, RefusesWhatItCannotDo) {
  Layer layer;
  layer.num_senders = 9;
  layer.load_bytes = 1e6;
  layer.channel_seconds_per_byte = 1;
  layer.compute = ComputeFunction::NLogN(1, 0);
  layer.next_fractions = {1};
  EXPECT_EQ(SolveSourceProgram(*ScaleLayer(layer)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SolveFreeOrderProgram(*ScaleLayer(layer)).status().code(),
            absl::StatusCode::kInvalidArgument);
  layer.kind = LayerKind::kMapper;
  layer.compute = ComputeFunction::Linear(1, 0);
  EXPECT_EQ(SolveFreeOrderProgram(*ScaleLayer(layer)).status().code(),
            absl::StatusCode::kResourceExhausted);
  layer.num_senders = 1000;
  EXPECT_EQ(SolveSourceProgram(*ScaleLayer(layer)).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weir::planner::load
