#include "runtime/client/status_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"

namespace weir::client {
namespace {

using Json = nlohmann::ordered_json;

// "JOB_STATE_RUNNING" -> "running".
std::string StateName(const std::string& enum_name, std::size_t prefix) {
  return enum_name.size() <= prefix ? enum_name : absl::AsciiStrToLower(enum_name.substr(prefix));
}

Json SpecToJson(const v1::JobSpec& spec) {
  Json json;
  json["job"] = spec.job();
  json["parameters"] = Json::object();
  for (const auto& parameter : spec.parameters()) {
    json["parameters"][parameter.name()] = parameter.value();
  }
  json["inputs"] = Json::array();
  for (const auto& input : spec.inputs()) json["inputs"].push_back(input);
  json["output"] = spec.output();
  if (spec.priority() != 0) json["priority"] = spec.priority();
  return json;
}

Json ProgressToJson(const v1::JobProgress& progress) {
  Json json = {{"input_bytes_done", progress.input_bytes_done()},
               {"input_bytes_total", progress.input_bytes_total()},
               {"shuffle_bytes_done", progress.shuffle_bytes_done()},
               {"shuffle_bytes_total", progress.shuffle_bytes_total()},
               {"steps_done", progress.steps_done()},
               {"steps_total", progress.steps_total()},
               {"transfers_done", progress.transfers_done()},
               {"transfers_total", progress.transfers_total()},
               {"elapsed_s", progress.elapsed_s()},
               {"remaining_s", progress.remaining_s()},
               {"done_fraction", progress.done_fraction()}};
  if (progress.iterations_max() > 0) {
    json["iteration"] = progress.iteration();
    json["iterations_max"] = progress.iterations_max();
  }
  if (!progress.measure_name().empty() && std::isfinite(progress.measure()))
    json[progress.measure_name()] = progress.measure();
  if (!progress.status().empty()) json["status"] = progress.status();
  return json;
}

}  // namespace

Json ErrorToJson(const v1::JobError& error) {
  Json json = {{"code", error.code()}, {"message", error.message()}};
  const auto add = [&json](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
  };
  add("worker", error.worker());
  add("step", error.step());
  add("file", error.file());
  if (!error.file().empty()) json["byte_offset"] = error.byte_offset();
  add("advice", error.advice());
  add("stderr_tail", error.stderr_tail());
  return json;
}

Json JobToJson(const v1::JobStatus& status) {
  constexpr std::size_t kPrefix = sizeof("JOB_STATE_") - 1;
  Json json;
  json["job_id"] = status.job_id();
  json["state"] = StateName(v1::JobState_Name(status.state()), kPrefix);
  if (!status.spec().submitter().empty()) json["submitter"] = status.spec().submitter();
  if (status.place_in_queue() > 0) json["place_in_queue"] = status.place_in_queue();
  json["spec"] = SpecToJson(status.spec());
  json["progress"] = ProgressToJson(status.progress());
  if (status.has_error() && !status.error().code().empty()) {
    json["error"] = ErrorToJson(status.error());
  }
  json["counters"] = Json::object();
  for (const auto& counter : status.counters()) json["counters"][counter.name()] = counter.value();
  json["skipped"] = Json::array();
  for (const auto& record : status.skipped()) {
    json["skipped"].push_back({{"file", record.file()},
                               {"byte_offset", record.byte_offset()},
                               {"content", record.content()},
                               {"reason", record.reason()}});
  }
  for (const auto& loss : status.losses()) {
    json["losses"].push_back({{"worker", loss.worker()},
                              {"why", loss.why()},
                              {"step", loss.step()},
                              {"plan_epoch", loss.plan_epoch()},
                              {"edit", loss.edit()},
                              {"steps_redone", loss.steps_redone()},
                              {"bytes_moved_again", loss.bytes_moved_again()},
                              {"runs_kept", loss.runs_kept()},
                              {"unix_ms", loss.unix_ms()}});
  }
  json["parts"] = Json::array();
  for (const auto& part : status.parts()) {
    json["parts"].push_back({{"file", part.file()},
                             {"bytes", part.bytes()},
                             {"records", part.records()},
                             {"xxh3_64", part.xxh3_64()}});
  }
  json["plan_id"] = status.plan_id();
  json["predicted_makespan_s"] = status.predicted_makespan_s();
  json["lower_bound_s"] = status.lower_bound_s();
  json["actual_makespan_s"] = status.actual_makespan_s();
  json["submitted_unix_ms"] = status.submitted_unix_ms();
  json["ended_unix_ms"] = status.ended_unix_ms();
  return json;
}

Json WorkerToJson(const v1::WorkerStatus& worker) {
  constexpr std::size_t kPrefix = sizeof("WORKER_STATE_") - 1;
  return {{"worker_id", worker.worker_id()},
          {"name", worker.identity().name()},
          {"state", StateName(v1::WorkerState_Name(worker.state()), kPrefix)},
          {"epoch", worker.epoch()},
          {"control_endpoint", worker.identity().control_endpoint()},
          {"data_endpoint", worker.identity().data_endpoint()},
          {"handover_domain", worker.identity().handover_domain()},
          {"version", worker.identity().version()},
          {"slots", worker.profile().slots()},
          {"cores", worker.profile().cores()},
          {"memory_bytes", worker.profile().memory_bytes()},
          {"available_memory_bytes", worker.profile().available_memory_bytes()},
          {"free_disk_bytes", worker.profile().free_disk_bytes()},
          {"compute_rate", worker.profile().compute_rate()},
          {"slot_compute_rate", worker.profile().slot_compute_rate()},
          {"disk_write_bytes_per_s", worker.profile().disk_write_bytes_per_s()},
          {"disk_read_bytes_per_s", worker.profile().disk_read_bytes_per_s()},
          {"task_start_s", worker.profile().task_start_s()},
          {"port_bytes_per_s", worker.profile().port_bytes_per_s()},
          {"rack", worker.profile().rack()},
          {"seconds_since_heartbeat", worker.seconds_since_heartbeat()},
          {"left_because", worker.left_because()}};
}

std::string JsonDocument(const Json& members) {
  Json document = {{"schema", 1}};
  document.update(members);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string JsonLine(const Json& members) {
  Json document = {{"schema", 1}};
  document.update(members);
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir::client
