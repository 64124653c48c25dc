// The plan as Chrome trace events (explain.h); opens in Perfetto. Upstream: plan_report.
// Downstream: the command line.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/explain/explain.h"
#include "planner/explain/interval_rows.h"
#include "planner/explain/plan_report.h"

namespace weir::planner {
namespace {

// Above this many transfers arrows hide more than they show, and double the file.
constexpr std::size_t kFlowsMax = 50'000;

// Predicted processes stand below the actual ones, under pids of their own.
constexpr std::int64_t kPredictedPid = 1'000'000;

// Below the precision that the events are written with.
constexpr Seconds kRoundingSeconds = 1e-9;

// Lanes of a worker. Transfers that overlap (fetch from all) take further rows after the base.
constexpr std::int64_t kComputeTid = 1;
constexpr std::int64_t kOwnOrderTid = 2;
constexpr std::int64_t kSendTid = 1'000;
constexpr std::int64_t kReceiveTid = 2'000'000;

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double Microseconds(Seconds seconds) { return seconds * 1e6; }

// Event by event into one string: a large plan as a JSON tree would need gigabytes.
class TraceWriter {
 public:
  TraceWriter(const Plan& plan, const ExplainOptions& options) : plan_(plan), options_(options) {}

  /// `actual`: whose bytes the slices carry; null: those of the plan.
  void AddRun(const std::vector<Interval>& steps, const std::vector<Interval>& transfers,
              const ActualRun* actual) {
    const bool predicted = actual == nullptr;
    actual_ = actual;
    const std::int64_t pid_base = predicted ? kPredictedPid : 0;
    for (WorkerIndex worker = 0; worker < plan_.network.num_workers; ++worker) {
      const std::string suffix = predicted ? " (predicted)" : " (actual)";
      AddName("process_name", pid_base + worker, 0, WorkerName(options_, worker) + suffix);
      Add(absl::StrFormat(
          R"({"ph":"M","name":"process_sort_index","pid":%d,"args":{"sort_index":%d}})",
          pid_base + worker, 2 * worker + (predicted ? 1 : 0)));
      AddName("thread_name", pid_base + worker, kComputeTid, "compute");
    }
    AddSteps(steps, pid_base);
    AddTransfers(transfers, pid_base, predicted ? "p" : "a");
  }

  std::string Take() {
    return absl::StrCat(
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"title\":", Quoted(options_.title),
        ",\"method\":", Quoted(plan_.summary.method), "},\"traceEvents\":[", events_, "\n]}\n");
  }

 private:
  void Add(const std::string& event) {
    absl::StrAppend(&events_, events_.empty() ? "\n" : ",\n", event);
  }

  void AddName(const char* what, std::int64_t pid, std::int64_t tid, const std::string& name) {
    Add(absl::StrFormat(R"({"ph":"M","name":"%s","pid":%d,"tid":%d,"args":{"name":%s}})", what, pid,
                        tid, Quoted(name)));
  }

  void AddSlice(const std::string& name, const char* category, std::int64_t pid, std::int64_t tid,
                const Interval& interval, const std::string& args) {
    Add(absl::StrFormat(
        R"({"ph":"X","name":%s,"cat":"%s","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{%s}})",
        Quoted(name), category, pid, tid, Microseconds(interval.start_s),
        Microseconds(interval.finish_s - interval.start_s), args));
  }

  // What really was read, made or moved, where that is known.
  Bytes BytesAt(std::vector<Bytes> ActualRun::*seen, std::size_t index, Bytes planned) const {
    if (actual_ == nullptr || index >= (actual_->*seen).size()) return planned;
    return (actual_->*seen)[index];
  }

  void AddSteps(const std::vector<Interval>& steps, std::int64_t pid_base) {
    std::vector<bool> named(static_cast<std::size_t>(plan_.network.num_workers), false);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Interval* interval = FindInterval(steps, i);
      if (interval == nullptr) continue;
      const ComputeStep& step = plan_.steps[i];
      const bool own_order = step.kind->own_order;
      if (own_order && !named[static_cast<std::size_t>(step.worker)]) {
        named[static_cast<std::size_t>(step.worker)] = true;
        AddName("thread_name", pid_base + step.worker, kOwnOrderTid, step.kind->name);
      }
      AddSlice(StepName(plan_, static_cast<StepIndex>(i)), step.kind->name, pid_base + step.worker,
               own_order ? kOwnOrderTid : kComputeTid, *interval,
               absl::StrFormat(R"("step":%d,"input_bytes":%d,"output_bytes":%d)", i,
                               BytesRead(plan_, actual_, i),
                               BytesAt(&ActualRun::step_output_bytes, i, step.output_bytes)));
    }
  }

  // Puts the transfers of each port into rows without overlap and names the rows.
  std::vector<std::int64_t> Rows(const std::vector<Interval>& transfers, std::int64_t pid_base,
                                 bool send) {
    std::vector<std::vector<std::size_t>> by_worker(
        static_cast<std::size_t>(plan_.network.num_workers));
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      if (FindInterval(transfers, i) == nullptr) continue;
      const Transfer& transfer = plan_.transfers[i];
      by_worker[static_cast<std::size_t>(send ? transfer.sender : transfer.receiver)].push_back(i);
    }
    std::vector<std::int64_t> tids(plan_.transfers.size(), 0);
    for (std::size_t worker = 0; worker < by_worker.size(); ++worker) {
      std::vector<Interval> intervals;
      for (const std::size_t i : by_worker[worker]) intervals.push_back(transfers[i]);
      const IntervalRows rows = AssignRows(intervals, kRoundingSeconds);
      for (std::size_t row = 0; row < rows.num_rows; ++row) {
        AddName("thread_name", pid_base + static_cast<std::int64_t>(worker),
                (send ? kSendTid : kReceiveTid) + static_cast<std::int64_t>(row),
                absl::StrCat(send ? "send" : "receive", row == 0 ? "" : absl::StrCat(" ", row)));
      }
      for (std::size_t k = 0; k < rows.row_of.size(); ++k) {
        tids[by_worker[worker][k]] =
            (send ? kSendTid : kReceiveTid) + static_cast<std::int64_t>(rows.row_of[k]);
      }
    }
    return tids;
  }

  void AddTransfers(const std::vector<Interval>& transfers, std::int64_t pid_base,
                    const char* flow_prefix) {
    const std::vector<std::int64_t> send_tids = Rows(transfers, pid_base, true);
    const std::vector<std::int64_t> receive_tids = Rows(transfers, pid_base, false);
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      const Interval* interval = FindInterval(transfers, i);
      if (interval == nullptr) continue;
      const Transfer& transfer = plan_.transfers[i];
      const std::string args = absl::StrFormat(
          R"("transfer":%d,"bytes":%d)", i, BytesAt(&ActualRun::transfer_bytes, i, transfer.bytes));
      AddSlice("to " + WorkerName(options_, transfer.receiver), "send", pid_base + transfer.sender,
               send_tids[i], *interval, args);
      AddSlice("from " + WorkerName(options_, transfer.sender), "receive",
               pid_base + transfer.receiver, receive_tids[i], *interval, args);
      if (plan_.transfers.size() > kFlowsMax) continue;
      // Both ends inside their slices, or the viewer cannot attach them.
      const double middle_us = Microseconds((interval->start_s + interval->finish_s) / 2);
      Add(absl::StrFormat(
          R"({"ph":"s","name":"transfer","cat":"transfer","id":"%s%d","pid":%d,"tid":%d,"ts":%.3f})",
          flow_prefix, i, pid_base + transfer.sender, send_tids[i],
          Microseconds(interval->start_s)));
      Add(absl::StrFormat(
          R"({"ph":"f","bp":"e","name":"transfer","cat":"transfer","id":"%s%d","pid":%d,"tid":%d,"ts":%.3f})",
          flow_prefix, i, pid_base + transfer.receiver, receive_tids[i], middle_us));
    }
  }

  const Plan& plan_;
  const ExplainOptions& options_;
  const ActualRun* actual_ = nullptr;  // of the run that is being added
  std::string events_;
};

}  // namespace

std::string ChromeTraceJson(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                            const ExplainOptions& options) {
  TraceWriter writer(plan, options);
  if (actual != nullptr) writer.AddRun(actual->steps, actual->transfers, actual);
  writer.AddRun(predicted.steps, predicted.transfers, nullptr);
  return writer.Take();
}

}  // namespace weir::planner
