#include "tests/unit/planner_plan/two_by_two.h"

namespace weir::planner {

Plan TwoByTwo(int channels) {
  Plan plan;
  plan.network = LimitedTotal(2, 1.0, 1);
  if (channels == 0) plan.network.cuts.clear();
  plan.steps.resize(4);
  for (int j = 0; j < 2; ++j) {
    ComputeStep& map = plan.steps[static_cast<std::size_t>(j)];
    map.kind = StepKind::kMap;
    map.index_in_layer = j;
    map.worker = j;
    map.input_begin = 10 * j;
    map.input_end = 10 * j + 10;
    map.input_bytes = 10;
    map.output_bytes = 4;
    map.duration_s = 2 + j;
    ComputeStep& reduce = plan.steps[static_cast<std::size_t>(2 + j)];
    reduce.kind = StepKind::kReduce;
    reduce.layer = 1;
    reduce.index_in_layer = j;
    reduce.worker = j;
    reduce.input_bytes = 4;
    reduce.load_fraction = 0.5;
    reduce.key_begin = 0.5 * j;
    reduce.key_end = 0.5 * j + 0.5;
    reduce.duration_s = 1;
    reduce.after_steps = {j};
    reduce.after_transfers = {1 - j};
  }
  plan.sections = {{0, 2, 2}, {0, 3, 2}, {1, 2, 2}, {1, 3, 2}};
  plan.transfers = {Transfer{0, 3, 0, 1, 0, 2, 2, 2}, Transfer{1, 2, 1, 0, 0, 2, 4, 2}};
  plan.compute_order = {{0, 2}, {1, 3}};
  plan.send_order = {{0}, {1}};
  plan.receive_order = {{1}, {0}};
  plan.steps[2].start_s = 6;
  plan.steps[3].start_s = 4;
  plan.summary.makespan_s = 7;
  if (channels == 0) {
    plan.transfers[1].start_s = 3;
    plan.steps[2].start_s = 5;
    plan.summary.makespan_s = 6;
  } else {
    plan.channel_order = {{{0, 1}}};
  }
  return plan;
}

}  // namespace weir::planner
