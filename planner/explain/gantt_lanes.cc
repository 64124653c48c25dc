#include "planner/explain/gantt_lanes.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "planner/explain/interval_rows.h"
#include "planner/explain/plan_report.h"
#include "planner/plan/cut_lanes.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

std::string Channels(std::int32_t count) {
  return absl::StrCat(count, count == 1 ? " channel" : " channels");
}

void SortByStart(std::vector<GanttBar>* bars) {
  std::sort(bars->begin(), bars->end(), [](const GanttBar& a, const GanttBar& b) {
    return a.start_s != b.start_s ? a.start_s < b.start_s : a.item < b.item;
  });
}

class LaneBuilder {
 public:
  LaneBuilder(const Plan& plan, const Prediction& predicted, const ActualRun* actual)
      : plan_(plan), predicted_(predicted), actual_(actual), lanes_(plan.network) {
    critical_steps_.assign(plan.steps.size(), false);
    critical_transfers_.assign(plan.transfers.size(), false);
    for (const Prediction::CriticalItem& item : predicted.critical_path) {
      std::vector<bool>& critical = item.is_transfer ? critical_transfers_ : critical_steps_;
      if (item.index >= 0 && At(item.index) < critical.size()) critical[At(item.index)] = true;
    }
  }

  GanttGroup Worker(WorkerIndex worker, const ExplainOptions& options) const {
    GanttGroup group;
    group.name = WorkerName(options, worker);
    GanttLane compute{"compute", false, {}, {}};
    std::map<StepKind, GanttLane> own;  // of kinds with an order of their own
    for (const StepIndex step : plan_.compute_order[At(worker)]) {
      const StepKind kind = plan_.steps[At(step)].kind;
      if (!kind->own_order) {
        AddStep(At(step), &compute);
        continue;
      }
      GanttLane& lane = own[kind];
      lane.name = kind->name;
      AddStep(At(step), &lane);
    }
    group.lanes.push_back(std::move(compute));
    for (auto& [kind, lane] : own) {
      if (!lane.predicted.empty() || !lane.actual.empty()) group.lanes.push_back(std::move(lane));
    }
    if (plan_.transfers.empty()) return group;
    group.lanes.push_back(TransferLane("send", kSendBar, plan_.send_order[At(worker)]));
    group.lanes.push_back(TransferLane("receive", kReceiveBar, plan_.receive_order[At(worker)]));
    return group;
  }

  GanttGroup CutGroup(std::size_t cut_index, Seconds visible_s) const {
    const Cut& cut = plan_.network.cuts[cut_index];
    GanttGroup group;
    group.name = cut.name.empty() ? absl::StrCat("cut ", cut_index) : cut.name;
    group.detail = Channels(cut.channels);
    if (lanes_.per_channel() > 1) {
      absl::StrAppend(&group.detail, " of ", lanes_.per_channel(), " lanes");
    }
    for (const std::vector<TransferIndex>& order : plan_.channel_order[cut_index]) {
      if (order.empty()) continue;
      GanttLane lane{absl::StrCat(LaneName(), " ", group.lanes.size() + 1), false, {}, {}};
      for (const TransferIndex transfer : order) {
        AddTransfer(predicted_.transfers, At(transfer), kChannelBar,
                    critical_transfers_[At(transfer)], &lane.predicted);
      }
      group.lanes.push_back(std::move(lane));
    }
    if (actual_ != nullptr) AddActualLanes(cut, visible_s, &group);
    return group;
  }

  // Who writes on which channel of the store; empty where one writer has it to itself.
  GanttGroup StoreGroup(Seconds visible_s) const {
    GanttGroup group;
    group.name = "store";
    group.detail = Channels(plan_.store_channels);
    std::vector<GanttBar> ran;
    for (const std::vector<StepIndex>& channel : plan_.store_order) {
      GanttLane lane{absl::StrCat("channel ", group.lanes.size() + 1), false, {}, {}};
      for (const StepIndex step : channel) AddStep(At(step), &lane);
      ran.insert(ran.end(), lane.actual.begin(), lane.actual.end());
      lane.actual.clear();
      group.lanes.push_back(std::move(lane));
    }
    const bool shared =
        group.lanes.size() > 1 || (group.lanes.size() == 1 && group.lanes[0].predicted.size() > 1);
    if (!shared) group.lanes.clear();
    if (shared) AddActualRows(ran, "channel", plan_.store_channels, visible_s, &group);
    return group;
  }

 private:
  const char* LaneName() const { return lanes_.per_channel() > 1 ? "lane" : "channel"; }

  void AddStep(std::size_t step, GanttLane* lane) const {
    const BarKind kind = BarKind::OfStep(plan_.steps[step].kind);
    const Bytes bytes = BytesRead(plan_, plan_.steps[step]);
    const Bytes output_bytes = plan_.steps[step].output_bytes;
    const auto item = static_cast<std::int32_t>(step);
    if (const Interval* interval = FindInterval(predicted_.steps, step)) {
      lane->predicted.push_back({kind, interval->start_s, interval->finish_s, item, 1, bytes,
                                 critical_steps_[step], output_bytes});
    }
    if (actual_ == nullptr) return;
    if (const Interval* interval = FindInterval(actual_->steps, step)) {
      const auto seen = [step](const std::vector<Bytes>& all, Bytes planned) {
        return step < all.size() ? all[step] : planned;
      };
      lane->actual.push_back({kind, interval->start_s, interval->finish_s, item, 1,
                              BytesRead(plan_, actual_, step), false,
                              seen(actual_->step_output_bytes, output_bytes)});
    }
  }

  void AddTransfer(const std::vector<Interval>& times, std::size_t transfer, const BarKind& kind,
                   bool critical, std::vector<GanttBar>* bars) const {
    const Interval* interval = FindInterval(times, transfer);
    if (interval == nullptr) return;
    Bytes bytes = plan_.transfers[transfer].bytes;
    if (actual_ != nullptr && &times == &actual_->transfers &&
        transfer < actual_->transfer_bytes.size()) {
      bytes = actual_->transfer_bytes[transfer];
    }
    bars->push_back({kind, interval->start_s, interval->finish_s,
                     static_cast<std::int32_t>(transfer), 1, bytes, critical});
  }

  GanttLane TransferLane(const char* name, const BarKind& kind,
                         const std::vector<TransferIndex>& order) const {
    GanttLane lane{name, false, {}, {}};
    for (const TransferIndex transfer : order) {
      AddTransfer(predicted_.transfers, At(transfer), kind, critical_transfers_[At(transfer)],
                  &lane.predicted);
      if (actual_ != nullptr) {
        AddTransfer(actual_->transfers, At(transfer), kind, false, &lane.actual);
      }
    }
    return lane;
  }

  // A transfer is drawn on as many lanes as it takes.
  void AddActualLanes(const Cut& cut, Seconds visible_s, GanttGroup* group) const {
    std::vector<GanttBar> bars;
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      const Transfer& transfer = plan_.transfers[i];
      if (!cut.Crosses(transfer.sender, transfer.receiver)) continue;
      for (std::int32_t n = 0; n < lanes_.Taken(transfer.sender, transfer.receiver); ++n) {
        AddTransfer(actual_->transfers, i, kChannelBar, false, &bars);
      }
    }
    AddActualRows(bars, LaneName(), lanes_.Of(cut), visible_s, group);
  }

  // Spreads what ran over the rows; those beyond the limit are marked.
  static void AddActualRows(const std::vector<GanttBar>& bars, const char* row_name,
                            std::int64_t rows_max, Seconds visible_s, GanttGroup* group) {
    std::vector<Interval> intervals;
    for (const GanttBar& bar : bars) intervals.push_back({bar.start_s, bar.finish_s});
    const IntervalRows rows = AssignRows(intervals, visible_s);
    while (group->lanes.size() < rows.num_rows) {
      const std::size_t row = group->lanes.size();
      const bool over = static_cast<std::int64_t>(row) >= rows_max;
      group->lanes.push_back(
          {over ? std::string("over limit") : absl::StrCat(row_name, " ", row + 1), over, {}, {}});
    }
    for (std::size_t i = 0; i < bars.size(); ++i) {
      group->lanes[rows.row_of[i]].actual.push_back(bars[i]);
    }
  }

  const Plan& plan_;
  const Prediction& predicted_;
  const ActualRun* actual_;
  const CutLanes lanes_;
  std::vector<bool> critical_steps_;
  std::vector<bool> critical_transfers_;
};

// Merges in place; bars are sorted by start.
void MergeLane(Seconds visible_s, bool merge_overlaps, std::vector<GanttBar>* bars) {
  if (bars->empty()) return;
  const auto small = [&](const GanttBar& bar) {
    return bar.count > 1 || bar.finish_s - bar.start_s < visible_s;
  };
  std::size_t kept = 0;
  for (std::size_t i = 1; i < bars->size(); ++i) {
    GanttBar& last = (*bars)[kept];
    const GanttBar& next = (*bars)[i];
    const bool near = next.start_s - last.finish_s < visible_s;
    const bool both_small = near && small(last) && small(next);
    const bool overlap = merge_overlaps && next.start_s < last.finish_s;
    if (last.kind == next.kind && (both_small || overlap)) {
      last.finish_s = std::max(last.finish_s, next.finish_s);
      last.count += next.count;
      last.bytes += next.bytes;
      last.critical = last.critical || next.critical;
    } else {
      (*bars)[++kept] = next;
    }
  }
  bars->resize(kept + 1);
}

}  // namespace

std::vector<GanttGroup> LayOutGantt(const Plan& plan, const Prediction& predicted,
                                    const ActualRun* actual, const ExplainOptions& options,
                                    Seconds visible_s) {
  const LaneBuilder builder(plan, predicted, actual);
  std::vector<GanttGroup> groups;
  for (WorkerIndex worker = 0; worker < plan.network.num_workers; ++worker) {
    groups.push_back(builder.Worker(worker, options));
  }
  if (IsOrdered(plan.transfer_order)) {
    for (std::size_t cut = 0; cut < plan.network.cuts.size(); ++cut) {
      GanttGroup group = builder.CutGroup(cut, visible_s);
      if (!group.lanes.empty()) groups.push_back(std::move(group));
    }
  }
  if (plan.store_channels > 0) {
    GanttGroup group = builder.StoreGroup(visible_s);
    if (!group.lanes.empty()) groups.push_back(std::move(group));
  }
  for (GanttGroup& group : groups) {
    for (GanttLane& lane : group.lanes) {
      SortByStart(&lane.predicted);
      SortByStart(&lane.actual);
    }
  }
  return groups;
}

std::size_t MergeBars(Seconds visible_s, bool merge_overlaps, std::vector<GanttGroup>* groups) {
  std::size_t num_bars = 0;
  for (GanttGroup& group : *groups) {
    for (GanttLane& lane : group.lanes) {
      MergeLane(visible_s, merge_overlaps, &lane.predicted);
      MergeLane(visible_s, merge_overlaps, &lane.actual);
      num_bars += lane.predicted.size() + lane.actual.size();
    }
  }
  return num_bars;
}

}  // namespace weir::planner
