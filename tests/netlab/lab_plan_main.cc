// weir_lab_plan REQUEST.json PLAN.json: plans a shuffle with known bytes, for weir --plan-file.
//
// The request: {"network": {... as docs/network.md ...}, "workers": ["w0", ...], "bytes": [[...]],
// "ready_s": [...], "record_bytes": 512, "method": "planned", "piece_bytes_max": 0,
// "pacing_fraction": 0.97}. The last is the master's unless it is given.
// Prints {"makespan_s", "lower_bound_s", "transfers", "planning_s"}.

#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "planner/plan/check_plan.h"
#include "planner/wire/plan_wire.h"
#include "runtime/master/options/network_spec.h"
#include "tests/netlab/shuffle_plan.h"

namespace weir::netlab {
namespace {

using Json = nlohmann::json;

int Fail(const absl::Status& status) {
  std::cerr << "weir_lab_plan: " << status.message() << '\n';
  return 2;
}

int Main(const std::string& request_file, const std::string& plan_file) {
  std::ifstream in(request_file);
  std::stringstream text;
  text << in.rdbuf();
  const Json json = Json::parse(text.str(), nullptr, false);
  if (!json.is_object()) return Fail(absl::InvalidArgumentError("the request is no JSON object"));
  const auto network = master::ParseNetworkSpec(json.at("network").dump());
  if (!network.ok()) return Fail(network.status());
  const auto names = json.at("workers").get<std::vector<std::string>>();
  ShuffleRequest request;
  request.network.num_workers = static_cast<std::int32_t>(names.size());
  master::ApplyNetworkSpec(*network, names, request.network);
  request.bytes = json.at("bytes").get<std::vector<std::vector<planner::Bytes>>>();
  request.ready_s = json.at("ready_s").get<std::vector<double>>();
  request.record_bytes = json.at("record_bytes").get<planner::Bytes>();
  request.method = json.at("method").get<std::string>();
  request.piece_bytes_max = json.value("piece_bytes_max", planner::Bytes{0});
  request.pacing_fraction = json.value("pacing_fraction", request.pacing_fraction);
  const auto begin = std::chrono::steady_clock::now();
  const auto plan = PlanShuffle(request);
  if (!plan.ok()) return Fail(plan.status());
  const std::chrono::duration<double> planning = std::chrono::steady_clock::now() - begin;
  if (absl::Status holds = planner::CheckPlan(*plan); !holds.ok()) return Fail(holds);
  std::string printed;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const auto done = google::protobuf::util::MessageToJsonString(planner::PlanToProto(*plan, names),
                                                                &printed, options);
  if (!done.ok()) return Fail(absl::InternalError(done.ToString()));
  std::ofstream(plan_file) << printed << '\n';
  std::cout << Json{{"makespan_s", plan->summary.makespan_s},
                    {"lower_bound_s", plan->summary.lower_bound_s},
                    {"transfers", plan->transfers.size()},
                    {"planning_s", planning.count()}}
                   .dump()
            << '\n';
  return 0;
}

}  // namespace
}  // namespace weir::netlab

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: weir_lab_plan REQUEST.json PLAN.json\n";
    return 2;
  }
  return weir::netlab::Main(argv[1], argv[2]);
}
