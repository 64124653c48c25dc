#include "planner/instances/load_instance_json.h"

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "planner/load/schedule_layer.h"
#include "planner/plan/units.h"

namespace weir::planner::load {
namespace {

using Json = nlohmann::ordered_json;

struct Instance {
  Json id;
  Layer layer;
};

/// When each pair talks, of one way to find that out.
struct ShownSchedule {
  std::string method;
  std::size_t pieces = 0;
  double pieces_per_pair = 0;
  Seconds makespan_s = 0;
  double micros = 0;
  /// Not empty where none was found; the numbers are then 0.
  std::string error;
};

struct Result {
  Json id;
  LayerSolution solution;
  double micros = 0;
  /// Of the document's method: its decomposition, and beside it our schedule of the same loads.
  std::vector<ShownSchedule> schedules;
};

std::string ShownId(const Json& id) { return id.is_string() ? id.get<std::string>() : id.dump(); }

/// Reads the fields of one instance; the first fault is kept, later reads return zero.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string name) : object_(object), name_(std::move(name)) {}

  double Number(const char* field) {
    const auto found = object_.find(field);
    if (found == object_.end()) return Fault(field, "missing", "a number");
    if (!found->is_number()) return Fault(field, found->dump(), "a number");
    return found->get<double>();
  }

  double Positive(const char* field) {
    const double value = Number(field);
    if (status_.ok() && !(value > 0)) return Fault(field, absl::StrCat(value), "finite and > 0");
    return value;
  }

  double NotNegative(const char* field) {
    const double value = Number(field);
    if (status_.ok() && !(value >= 0)) return Fault(field, absl::StrCat(value), "finite and >= 0");
    return value;
  }

  std::int32_t Count(const char* field) {
    const double value = Number(field);
    if (!status_.ok()) return 0;
    if (value != std::floor(value) || value < 1 ||
        value > std::numeric_limits<std::int32_t>::max()) {
      Fault(field, absl::StrCat(value), "a whole number >= 1");
      return 0;
    }
    return static_cast<std::int32_t>(value);
  }

  std::vector<double> Fractions(const char* field, std::int32_t size) {
    const auto found = object_.find(field);
    if (found == object_.end() || !found->is_array()) {
      Fault(field, found == object_.end() ? "missing" : "not an array", "an array of r fractions");
      return {};
    }
    std::vector<double> values;
    for (const Json& entry : *found) {
      if (!entry.is_number()) {
        Fault(field, entry.dump(), "numbers only");
        return {};
      }
      values.push_back(entry.get<double>());
    }
    if (status_.ok() && values.size() != static_cast<std::size_t>(size)) {
      Fault(field, absl::StrCat(values.size(), " fractions"),
            absl::StrCat("r = ", size, " of them"));
    }
    return values;
  }

  double Fault(const char* field, const std::string& value, const std::string& legal) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("instance ", name_, ": field ", field, " is ", value, "; legal: ", legal));
    }
    return 0;
  }

  const absl::Status& status() const { return status_; }

 private:
  const Json& object_;
  std::string name_;
  absl::Status status_;
};

absl::StatusOr<Instance> ReadInstance(const Json& object, std::size_t position) {
  Instance instance;
  instance.id = object.is_object() && object.contains("id") ? object["id"] : Json(position);
  const std::string name = ShownId(instance.id);
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("instance ", name, " is not an object; legal: {\"id\": ..., ...}"));
  }
  FieldReader reader(object, name);
  const auto type = object.find("type");
  const std::string kind =
      type != object.end() && type->is_string() ? type->get<std::string>() : "";
  if (kind != "mapper" && kind != "reducer") {
    reader.Fault("type", type == object.end() ? "missing" : type->dump(),
                 "\"mapper\" or \"reducer\"");
    return reader.status();
  }
  Layer& layer = instance.layer;
  layer.num_senders = reader.Count("n");
  const std::int32_t receivers = reader.Count("r");
  layer.channels = reader.Count("l");
  layer.load_bytes = reader.Positive("V");
  layer.channel_seconds_per_byte = reader.Positive("C");
  layer.output_ratio = reader.NotNegative("g");
  layer.next_fractions = reader.Fractions("delta_next", receivers);
  if (kind == "mapper") {
    layer.kind = LayerKind::kMapper;
    layer.compute = ComputeFunction::Linear(reader.Positive("A"), 0);
    layer.mapper_startup_s = reader.NotNegative("S");
  } else {
    layer.kind = LayerKind::kReducer;
    const double rate = reader.Positive("a_red");
    layer.compute = ComputeFunction::Chords(rate, reader.NotNegative("s_red"), layer.load_bytes);
  }
  if (!reader.status().ok()) return reader.status();
  if (absl::Status status = CheckLayer(layer); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("instance ", name, ": ", status.message()));
  }
  return instance;
}

absl::StatusOr<std::vector<Instance>> ReadInstances(std::string_view json_text) {
  Json file;
  try {
    file = Json::parse(json_text);
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("instance file is not valid JSON: ", error.what()));
  }
  if (!file.is_object()) {
    return absl::InvalidArgumentError(
        "instance file is not an object; legal: {\"schema\": 1, \"instances\": [...]}");
  }
  const auto schema = file.find("schema");
  if (schema == file.end() || (*schema != 1 && *schema != "layer-golden/1")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "instance file: field schema is ", schema == file.end() ? "missing" : schema->dump(),
        "; legal: 1 or \"layer-golden/1\""));
  }
  const auto list = file.find("instances");
  if (list == file.end() || !list->is_array()) {
    return absl::InvalidArgumentError(
        "instance file: field instances is not an array; legal: [{...}, ...]");
  }
  std::vector<Instance> instances;
  for (const Json& object : *list) {
    absl::StatusOr<Instance> instance = ReadInstance(object, instances.size());
    if (!instance.ok()) return instance.status();
    instances.push_back(*std::move(instance));
  }
  return instances;
}

/// Both schedules of loads that the document's program has found.
absl::StatusOr<std::vector<ShownSchedule>> ScheduleBothWays(const Layer& layer,
                                                            const std::vector<double>& share,
                                                            const std::function<double()>& now) {
  const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
  if (!scaled.ok()) return scaled.status();
  std::vector<ShownSchedule> shown;
  for (const bool by_source : {true, false}) {
    const double begin_micros = now();
    const absl::StatusOr<LayerSchedule> schedule =
        by_source ? ScheduleLayerBySource(*scaled) : ScheduleLayer(*scaled, share, {});
    const double end_micros = now();
    if (!schedule.ok()) {
      shown.push_back({by_source ? "source decomposition" : "ours", 0, 0, 0,
                       end_micros - begin_micros, std::string(schedule.status().message())});
      continue;
    }
    const double pairs = static_cast<double>(scaled->n) * scaled->r;
    const auto pieces = static_cast<double>(schedule->pieces.size());
    shown.push_back({schedule->method, schedule->pieces.size(), pieces / pairs,
                     schedule->makespan * scaled->time_unit_s, end_micros - begin_micros, ""});
  }
  return shown;
}

absl::StatusOr<std::vector<Result>> SolveAll(std::string_view json_text,
                                             const InstanceOptions& options) {
  const absl::StatusOr<std::vector<Instance>> instances = ReadInstances(json_text);
  if (!instances.ok()) return instances.status();
  const std::function<double()> now = [&] {
    return options.now_micros ? options.now_micros() : 0.0;
  };
  const auto located = [](const Instance& instance, const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrCat("instance ", ShownId(instance.id), ": ", status.message()));
  };
  std::vector<Result> results;
  for (const Instance& instance : *instances) {
    const double begin_micros = now();
    absl::StatusOr<LayerSolution> solution = SolveLayer(instance.layer, options.method);
    const double end_micros = now();
    if (!solution.ok()) return located(instance, solution.status());
    results.push_back({instance.id, *std::move(solution), end_micros - begin_micros, {}});
    if (options.method != LayerMethod::kPaper) continue;
    absl::StatusOr<std::vector<ShownSchedule>> schedules =
        ScheduleBothWays(instance.layer, results.back().solution.share, now);
    if (!schedules.ok()) return located(instance, schedules.status());
    results.back().schedules = *std::move(schedules);
  }
  return results;
}

}  // namespace

absl::StatusOr<LayerMethod> ParseLayerMethod(std::string_view name) {
  if (name == "automatic") return LayerMethod::kAutomatic;
  if (name == "fast") return LayerMethod::kFast;
  if (name == "exact") return LayerMethod::kExact;
  if (name == "paper") return LayerMethod::kPaper;
  if (name == "paper-free-order") return LayerMethod::kPaperFreeOrder;
  return absl::InvalidArgumentError(
      absl::StrCat("method is \"", std::string(name),
                   "\"; legal: automatic, fast, exact, paper, paper-free-order"));
}

absl::StatusOr<std::string> SolveInstancesJson(std::string_view json_text,
                                               const InstanceOptions& options) {
  const absl::StatusOr<std::vector<Result>> results = SolveAll(json_text, options);
  if (!results.ok()) return results.status();
  Json list = Json::array();
  for (const Result& result : *results) {
    const LayerSolution& solution = result.solution;
    Json entry = {{"id", result.id},
                  {"makespan", solution.makespan_s},
                  {"lower_bound", solution.lower_bound_s},
                  {"share", solution.share},
                  {"gap", solution.gap},
                  {"method", solution.method},
                  {"micros", result.micros}};
    if (!solution.warning.empty()) entry["warning"] = solution.warning;
    for (const ShownSchedule& schedule : result.schedules) {
      if (!schedule.error.empty()) {
        entry["schedules"].push_back({{"method", schedule.method}, {"error", schedule.error}});
        continue;
      }
      entry["schedules"].push_back({{"method", schedule.method},
                                    {"makespan", schedule.makespan_s},
                                    {"pieces", schedule.pieces},
                                    {"pieces_per_pair", schedule.pieces_per_pair},
                                    {"micros", schedule.micros}});
    }
    list.push_back(std::move(entry));
  }
  return absl::StrCat(Json{{"schema", 1}, {"results", std::move(list)}}.dump(), "\n");
}

absl::StatusOr<std::string> SolveInstancesTable(std::string_view json_text,
                                                const InstanceOptions& options) {
  const absl::StatusOr<std::vector<Result>> results = SolveAll(json_text, options);
  if (!results.ok()) return results.status();
  std::string table = absl::StrFormat("%-28s %16s %16s %9s %10s  %s\n", "instance", "makespan s",
                                      "lower bound s", "gap", "micros", "method");
  for (const Result& result : *results) {
    const LayerSolution& solution = result.solution;
    absl::StrAppendFormat(&table, "%-28s %16.9g %16.9g %9.2g %10.1f  %s\n", ShownId(result.id),
                          solution.makespan_s, solution.lower_bound_s, solution.gap, result.micros,
                          solution.method);
    const auto shown = absl::StrJoin(solution.share, " ", [](std::string* out, double share) {
      absl::StrAppendFormat(out, "%.5f", share);
    });
    absl::StrAppend(&table, "  shares: ", shown, "\n");
    if (!solution.warning.empty()) absl::StrAppend(&table, "  warning: ", solution.warning, "\n");
    for (const ShownSchedule& schedule : result.schedules) {
      absl::StrAppendFormat(&table,
                            "  schedule by %s: %.9g s, %d pieces (%.2f a pair), %.1f micros\n",
                            schedule.method, schedule.makespan_s, schedule.pieces,
                            schedule.pieces_per_pair, schedule.micros);
    }
  }
  return table;
}

}  // namespace weir::planner::load
