// The plan as one JSON object for programs (explain.h). Upstream: plan_report. Downstream: the
// command line.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "planner/explain/explain.h"
#include "planner/explain/plan_report.h"
#include "planner/plan/input/input_parts.h"

namespace weir::planner {
namespace {

using Json = nlohmann::ordered_json;

// Above this the object says how many transfers there are and leaves them out.
constexpr std::size_t kTransfersListed = 20'000;

Json IntervalJson(const Interval* interval) {
  if (interval == nullptr) return nullptr;
  return Json{{"start_s", interval->start_s}, {"finish_s", interval->finish_s}};
}

Json WorkerTimesJson(const WorkerTimes& times) {
  return Json{{"compute_s", times.compute_s},
              {"send_s", times.send_s},
              {"receive_s", times.receive_s},
              {"idle_s", times.idle_s},
              {"finish_s", times.finish_s}};
}

Json WorkersJson(const PlanReport& report) {
  Json workers = Json::array();
  for (const WorkerReport& worker : report.workers) {
    workers.push_back(
        Json{{"name", worker.name},
             {"map_input_bytes", worker.map_input_bytes},
             {"load_fractions", worker.load_fractions},
             {"sent_bytes", worker.sent_bytes},
             {"received_bytes", worker.received_bytes},
             {"predicted", WorkerTimesJson(worker.predicted)},
             {"actual", worker.actual.has_value() ? WorkerTimesJson(*worker.actual) : Json()}});
  }
  return workers;
}

Json LayersJson(const PlanReport& report) {
  Json layers = Json::array();
  for (const LayerReport& layer : report.layers) {
    Json json{{"layer", layer.layer},
              {"kind", layer.kind->name},
              {"steps", layer.num_steps},
              {"input_bytes", layer.input_bytes},
              {"output_bytes", layer.output_bytes},
              {"step_input_bytes_min", layer.step_input_bytes_min},
              {"step_input_bytes_max", layer.step_input_bytes_max},
              {"predicted", IntervalJson(&layer.predicted)},
              {"actual", IntervalJson(layer.actual.has_value() ? &*layer.actual : nullptr)}};
    if (layer.spilled_bytes > 0 || layer.actual_spilled_bytes > 0) {
      json["spilled_bytes"] = layer.spilled_bytes;
      json["step_spill_s_max"] = layer.step_spill_s_max;
      if (layer.actual.has_value()) json["actual_spilled_bytes"] = layer.actual_spilled_bytes;
    }
    layers.push_back(std::move(json));
  }
  return layers;
}

Json LimitJson(const Plan& plan, const PlanLimits& limits) {
  Json json{{"kind", LimitName(limits.limit)},
            {"busy_s", limits.limit_s},
            {"map_s", limits.map_s},
            {"port_s", limits.port_s},
            {"port_worker", limits.port_worker},
            {"port_receives", limits.port_receives},
            {"bisection_s", limits.cut_s},
            {"reduce_s", limits.reduce_s},
            {"store_s", limits.store_s}};
  if (limits.cut != kNoIndex) {
    json["bisection_cut"] = plan.network.cuts[static_cast<std::size_t>(limits.cut)].name;
  }
  return json;
}

Json StepsJson(const Plan& plan, const Prediction& predicted, const ActualRun* actual) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ComputeStep& step = plan.steps[i];
    Json json{{"kind", step.kind->name},
              {"layer", step.layer},
              {"index", step.index_in_layer},
              {"worker", step.worker},
              {"input_bytes", BytesRead(plan, step)},
              {"output_bytes", step.output_bytes}};
    if (step.kind->reads_input())
      json["input_begin"] = InputPosition(plan.input_part_ends, step.input_begin);
    if (step.is_rerun) json["is_rerun"] = true;
    if (step.kind->splits_keys()) {
      json["load_fraction"] = step.load_fraction;
      json["key_begin"] = step.key_begin;
      json["key_end"] = step.key_end;
    }
    if (step.spilled_bytes > 0) {
      json["spilled_bytes"] = step.spilled_bytes;
      json["spill_s"] = step.spill_s;
    }
    json["predicted"] = IntervalJson(FindInterval(predicted.steps, i));
    if (actual != nullptr) {
      json["actual"] = IntervalJson(FindInterval(actual->steps, i));
      if (i < actual->step_spilled_bytes.size() &&
          (step.spilled_bytes > 0 || actual->step_spilled_bytes[i] > 0)) {
        json["actual_spilled_bytes"] = actual->step_spilled_bytes[i];
      }
      if (i < actual->step_input_bytes.size()) {
        json["actual_input_bytes"] = BytesRead(plan, actual, i);
      }
      if (i < actual->step_output_bytes.size()) {
        json["actual_output_bytes"] = actual->step_output_bytes[i];
      }
    }
    steps.push_back(std::move(json));
  }
  return steps;
}

Json RatesJson(const std::vector<RateChange>& rates) {
  Json list = Json::array();
  for (const RateChange& rate : rates) {
    list.push_back(Json{{"at_s", rate.at_s}, {"bytes_per_s", rate.bytes_per_s}});
  }
  return list;
}

Json TransfersJson(const Plan& plan, const Prediction& predicted, const ActualRun* actual) {
  Json transfers = Json::array();
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    Json json{{"sender", transfer.sender},     {"receiver", transfer.receiver},
              {"producer", transfer.producer}, {"consumer", transfer.consumer},
              {"offset", transfer.offset},     {"bytes", transfer.bytes}};
    if (transfer.rate_bytes_per_s > 0) json["rate_bytes_per_s"] = transfer.rate_bytes_per_s;
    if (!transfer.rate_changes.empty()) json["rate_changes"] = RatesJson(transfer.rate_changes);
    json["predicted"] = IntervalJson(FindInterval(predicted.transfers, i));
    if (actual != nullptr) {
      json["actual"] = IntervalJson(FindInterval(actual->transfers, i));
      if (i < actual->transfer_bytes.size()) json["actual_bytes"] = actual->transfer_bytes[i];
      if (i < actual->transfer_in_flight_bytes.size()) {
        json["actual_tail_bytes"] = actual->transfer_in_flight_bytes[i];
      }
      if (i < actual->transfer_rates.size()) {
        json["actual_rates"] = RatesJson(actual->transfer_rates[i]);
      }
    }
    transfers.push_back(std::move(json));
  }
  return transfers;
}

Json PathJson(const Prediction& predicted) {
  Json path = Json::array();
  for (const Prediction::CriticalItem& item : predicted.critical_path) {
    path.push_back(Json{{"item", item.is_transfer ? "transfer" : "step"}, {"index", item.index}});
  }
  return path;
}

const char* TransferOrderName(TransferOrder order) {
  switch (order) {
    case TransferOrder::kStrict:
      return "strict";
    case TransferOrder::kOvertake:
      return "overtake";
    case TransferOrder::kFetchAll:
      return "fetch-all";
    case TransferOrder::kRates:
      return "rates";
  }
  return "unknown";
}

Json NumbersJson(const Plan& plan) {
  Json numbers = Json::array();
  for (const PlanNumber& number : plan.summary.numbers) {
    numbers.push_back({{"name", number.name},
                       {"value", number.value},
                       {"unit", number.unit},
                       {"origin", number.origin}});
  }
  return numbers;
}

Json CodecsJson(const Plan& plan) {
  Json codecs = Json::array();
  for (const Codec codec : plan.run_codec) codecs.push_back(CodecName(codec));
  return codecs;
}

}  // namespace

std::string ExplainJson(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                        const ExplainOptions& options) {
  const PlanReport report = MakeReport(plan, predicted, actual, options);
  Json json{{"schema", 1},
            {"title", options.title},
            {"method", plan.summary.method},
            {"transfer_order", TransferOrderName(plan.transfer_order)},
            {"predicted_s", report.predicted_s}};
  if (plan.port_lanes > 0) json["port_lanes"] = plan.port_lanes;
  if (plan.rates_over_time) json["rates_over_time"] = true;
  // Programs take it for how far the run came, also of one that is not at its end: the state says
  // which it is.
  const std::optional<Seconds>& ran_s =
      report.actual_s.has_value() ? report.actual_s : report.unfinished_s;
  json["actual_s"] = ran_s.has_value() ? Json(*ran_s) : Json();
  json["lower_bound_s"] = plan.summary.lower_bound_s;
  json["gap"] = plan.summary.lower_bound_s > 0
                    ? Json(report.predicted_s / plan.summary.lower_bound_s - 1)
                    : Json();
  json["limit"] = LimitJson(plan, report.limits);
  if (!plan.input_part_ends.empty()) json["input_part_ends"] = plan.input_part_ends;
  json["store_channels"] = plan.store_channels;
  json["run_codec"] = CodecsJson(plan);
  json["section_bytes"] = report.section_bytes;
  json["moved_bytes"] = report.moved_bytes;
  if (report.spilled_bytes > 0 || report.actual_spilled_bytes > 0) {
    json["spilled_bytes"] = report.spilled_bytes;
    if (report.HasRun()) json["actual_spilled_bytes"] = report.actual_spilled_bytes;
  }
  json["layers"] = LayersJson(report);
  json["workers"] = WorkersJson(report);
  json["steps"] = StepsJson(plan, predicted, actual);
  json["num_transfers"] = plan.transfers.size();
  if (plan.transfers.size() <= kTransfersListed) {
    json["transfers"] = TransfersJson(plan, predicted, actual);
  }
  json["critical_path"] = PathJson(predicted);
  json["numbers"] = NumbersJson(plan);
  json["notes"] = plan.summary.notes;
  // Names may hold any bytes; what is not UTF-8 is replaced, because this must not fail.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir::planner
