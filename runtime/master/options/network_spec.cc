#include "runtime/master/options/network_spec.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir::master {
namespace {

using Json = nlohmann::json;

absl::Status Wrong(const std::string& field, const Json& value, const std::string& legal) {
  return absl::InvalidArgumentError(absl::StrCat("network file: ", field, " is ",
                                                 value.dump().substr(0, 80), "; legal: ", legal));
}

absl::Status CheckFields(const Json& object, const std::string& where,
                         const std::set<std::string>& known) {
  if (!object.is_object()) return Wrong(where, object, "an object");
  for (const auto& [key, value] : object.items()) {
    if (known.count(key) > 0) continue;
    std::string names;
    for (const std::string& name : known) absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    return Wrong(absl::StrCat(where, ".", key), value, absl::StrCat("only the fields ", names));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> Number(const Json& value, const std::string& field, double min,
                              const std::string& legal) {
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < min) {
    return Wrong(field, value, legal);
  }
  return value.get<double>();
}

absl::StatusOr<std::int32_t> Channels(const Json& object, const char* key,
                                      const std::string& where) {
  const std::string field = absl::StrCat(where, ".", key);
  if (!object.contains(key)) return Wrong(field, nullptr, "a whole number, 1 or more");
  const Json& value = object[key];
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
      value.get<std::int64_t>() > 1'000'000) {
    return Wrong(field, value, "a whole number from 1 to 1000000");
  }
  return value.get<std::int32_t>();
}

absl::StatusOr<std::vector<std::string>> Names(const Json& value, const std::string& field) {
  std::vector<std::string> names;
  if (!value.is_array() || value.empty()) return Wrong(field, value, "a list of names of workers");
  for (const Json& name : value) {
    if (!name.is_string() || name.get<std::string>().empty())
      return Wrong(field, value, "a list of names of workers");
    names.push_back(name.get<std::string>());
  }
  return names;
}

absl::StatusOr<CutSide> Side(const Json& object, const char* key, const std::string& where) {
  const std::string field = absl::StrCat(where, ".", key);
  const Json value = object.value(key, Json());
  CutSide side;
  if (value == "all" || value == "rest") {
    side.kind = value == "all" ? CutSide::Kind::kAll : CutSide::Kind::kRest;
    return side;
  }
  if (value.is_string() || value.is_null())
    return Wrong(field, value, "\"all\", \"rest\" or a list of names");
  absl::StatusOr<std::vector<std::string>> names = Names(value, field);
  if (!names.ok()) return names.status();
  side.workers = *std::move(names);
  return side;
}

absl::Status AddRack(const Json& rack, const std::string& where, NetworkSpec& spec) {
  if (absl::Status status =
          CheckFields(rack, where, {"name", "workers", "up_channels", "down_channels"});
      !status.ok()) {
    return status;
  }
  absl::StatusOr<std::vector<std::string>> workers =
      Names(rack.value("workers", Json()), absl::StrCat(where, ".workers"));
  if (!workers.ok()) return workers.status();
  const std::string name =
      rack.value("name", Json()).is_string() ? rack["name"].get<std::string>() : (*workers)[0];
  const CutSide inside{CutSide::Kind::kNamed, *workers};
  const CutSide outside{CutSide::Kind::kRest, {}};
  for (const bool up : {true, false}) {
    absl::StatusOr<std::int32_t> channels =
        Channels(rack, up ? "up_channels" : "down_channels", where);
    if (!channels.ok()) return channels.status();
    spec.cuts.push_back({absl::StrCat("rack ", name, up ? " up" : " down"), up ? inside : outside,
                         up ? outside : inside, *channels});
  }
  return absl::OkStatus();
}

absl::Status AddCut(const Json& cut, const std::string& where, NetworkSpec& spec) {
  if (absl::Status status = CheckFields(cut, where, {"name", "from", "to", "channels"});
      !status.ok())
    return status;
  absl::StatusOr<CutSide> from = Side(cut, "from", where);
  if (!from.ok()) return from.status();
  absl::StatusOr<CutSide> to = Side(cut, "to", where);
  if (!to.ok()) return to.status();
  if (from->kind == CutSide::Kind::kRest && to->kind == CutSide::Kind::kRest) {
    return Wrong(absl::StrCat(where, ".from"), cut["from"],
                 "at most one of from and to can be \"rest\"");
  }
  absl::StatusOr<std::int32_t> channels = Channels(cut, "channels", where);
  if (!channels.ok()) return channels.status();
  const Json name = cut.value("name", Json());
  spec.cuts.push_back(
      {name.is_string() ? name.get<std::string>() : absl::StrCat("cut ", spec.cuts.size()),
       *std::move(from), *std::move(to), *channels});
  return absl::OkStatus();
}

template <typename Add>
absl::Status EachOf(const Json& root, const char* key, const Add& add) {
  if (!root.contains(key)) return absl::OkStatus();
  if (!root[key].is_array()) return Wrong(key, root[key], "a list");
  for (std::size_t i = 0; i < root[key].size(); ++i) {
    if (absl::Status status = add(root[key][i], absl::StrCat(key, "[", i, "]")); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

/// What measuring found of transfers beside each other and after each other.
absl::Status ReadSharing(const Json& root, NetworkSpec& spec) {
  const auto read = [&root](const char* field, double min, double max, const std::string& legal,
                            double* into) {
    if (!root.contains(field)) return absl::OkStatus();
    absl::StatusOr<double> value = Number(root[field], field, min, legal);
    if (!value.ok()) return value.status();
    if (*value > max) return Wrong(field, root[field], legal);
    *into = *value;
    return absl::OkStatus();
  };
  constexpr double kGapMaxS = 10;
  const std::string share = "a number from 0.1 to 1";
  absl::Status status = read("sharing_fraction", 0.1, 1, share, &spec.sharing_fraction);
  if (status.ok()) {
    status = read("cut_sharing_fraction", 0.1, 1, share, &spec.cut_sharing_fraction);
  }
  if (status.ok()) {
    status = read("sharing_resent_fraction", 0, 1, "a number from 0 to 1",
                  &spec.sharing_resent_fraction);
  }
  if (status.ok()) {
    status = read("transfer_gap_s", 0, kGapMaxS, "0 s to 10 s", &spec.transfer_gap_s);
  }
  return status;
}

absl::Status ReadRates(const Json& root, NetworkSpec& spec) {
  if (root.contains("channel_bytes_per_s")) {
    absl::StatusOr<double> rate =
        Number(root["channel_bytes_per_s"], "channel_bytes_per_s", 1, "1 byte/s or more");
    if (!rate.ok()) return rate.status();
    spec.channel_bytes_per_s = *rate;
  }
  if (root.contains("latency_s")) {
    absl::StatusOr<double> latency = Number(root["latency_s"], "latency_s", 0, "0 s or more");
    if (!latency.ok()) return latency.status();
    spec.latency_s = *latency;
  }
  if (!root.contains("port_bytes_per_s")) return absl::OkStatus();
  if (!root["port_bytes_per_s"].is_object()) {
    return Wrong("port_bytes_per_s", root["port_bytes_per_s"],
                 "an object: name of a worker to bytes/s");
  }
  for (const auto& [name, value] : root["port_bytes_per_s"].items()) {
    absl::StatusOr<double> rate =
        Number(value, absl::StrCat("port_bytes_per_s.", name), 1, "1 byte/s or more");
    if (!rate.ok()) return rate.status();
    spec.port_bytes_per_s[name] = *rate;
  }
  return absl::OkStatus();
}

Json SideJson(const CutSide& side) {
  if (side.kind == CutSide::Kind::kAll) return "all";
  if (side.kind == CutSide::Kind::kRest) return "rest";
  return side.workers;
}

std::vector<bool> Named(const CutSide& side, const std::vector<std::string>& worker_names) {
  std::vector<bool> members;
  for (const std::string& name : worker_names) {
    members.push_back(side.kind == CutSide::Kind::kAll ||
                      std::find(side.workers.begin(), side.workers.end(), name) !=
                          side.workers.end());
  }
  return members;
}

planner::Cut CutFor(const NamedCut& named, const std::vector<std::string>& worker_names) {
  planner::Cut cut{named.name, Named(named.from, worker_names), Named(named.to, worker_names),
                   named.channels};
  if (named.from.kind == CutSide::Kind::kRest) {
    cut.from = cut.to;
    cut.from.flip();
  }
  if (named.to.kind == CutSide::Kind::kRest) {
    cut.to = cut.from;
    cut.to.flip();
  }
  return cut;
}

bool AnyPairCrosses(const planner::Cut& cut) {
  for (std::size_t a = 0; a < cut.from.size(); ++a) {
    for (std::size_t b = 0; b < cut.to.size(); ++b) {
      if (a != b && cut.from[a] && cut.to[b]) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<NetworkSpec> ParseNetworkSpec(std::string_view json_text) {
  const Json root = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return absl::InvalidArgumentError("network file: not valid JSON");
  if (absl::Status status =
          CheckFields(root, "file",
                      {"schema", "channel_bytes_per_s", "latency_s", "port_bytes_per_s", "racks",
                       "total_channels", "cuts", "sharing_fraction", "cut_sharing_fraction",
                       "sharing_resent_fraction", "transfer_gap_s"});
      !status.ok()) {
    return status;
  }
  if (root.value("schema", Json()) != 1) return Wrong("schema", root.value("schema", Json()), "1");
  NetworkSpec spec;
  if (absl::Status status = ReadRates(root, spec); !status.ok()) return status;
  if (absl::Status status = ReadSharing(root, spec); !status.ok()) return status;
  if (root.contains("total_channels")) {
    absl::StatusOr<std::int32_t> channels = Channels(root, "total_channels", "file");
    if (!channels.ok()) return channels.status();
    const CutSide all{CutSide::Kind::kAll, {}};
    spec.cuts.push_back({"total", all, all, *channels});
  }
  if (absl::Status status = EachOf(
          root, "racks",
          [&](const Json& rack, const std::string& where) { return AddRack(rack, where, spec); });
      !status.ok()) {
    return status;
  }
  if (absl::Status status = EachOf(
          root, "cuts",
          [&](const Json& cut, const std::string& where) { return AddCut(cut, where, spec); });
      !status.ok()) {
    return status;
  }
  return spec;
}

std::string NetworkSpecJson(const NetworkSpec& spec) {
  Json root = {{"schema", 1}};
  if (spec.channel_bytes_per_s > 0) root["channel_bytes_per_s"] = spec.channel_bytes_per_s;
  if (spec.latency_s >= 0) root["latency_s"] = spec.latency_s;
  if (!spec.port_bytes_per_s.empty()) root["port_bytes_per_s"] = spec.port_bytes_per_s;
  for (const NamedCut& cut : spec.cuts) {
    root["cuts"].push_back({{"name", cut.name},
                            {"from", SideJson(cut.from)},
                            {"to", SideJson(cut.to)},
                            {"channels", cut.channels}});
  }
  for (const auto& [field, value] :
       {std::pair("sharing_fraction", spec.sharing_fraction),
        std::pair("cut_sharing_fraction", spec.cut_sharing_fraction),
        std::pair("sharing_resent_fraction", spec.sharing_resent_fraction),
        std::pair("transfer_gap_s", spec.transfer_gap_s)}) {
    if (value > 0) root[field] = value;
  }
  return root.dump(2);
}

NetworkSpec Overlay(NetworkSpec preferred, const NetworkSpec& other) {
  if (preferred.channel_bytes_per_s <= 0) preferred.channel_bytes_per_s = other.channel_bytes_per_s;
  if (preferred.latency_s < 0) preferred.latency_s = other.latency_s;
  if (preferred.port_bytes_per_s.empty()) preferred.port_bytes_per_s = other.port_bytes_per_s;
  if (preferred.cuts.empty()) preferred.cuts = other.cuts;
  if (preferred.sharing_fraction <= 0) {
    preferred.sharing_fraction = other.sharing_fraction;
    preferred.cut_sharing_fraction = other.cut_sharing_fraction;
    preferred.sharing_resent_fraction = other.sharing_resent_fraction;
  }
  if (preferred.transfer_gap_s <= 0) preferred.transfer_gap_s = other.transfer_gap_s;
  return preferred;
}

std::int32_t TakeTotal(NetworkSpec& spec) {
  std::int32_t channels = 0;
  std::erase_if(spec.cuts, [&channels](const NamedCut& cut) {
    const bool total = cut.from.kind == CutSide::Kind::kAll && cut.to.kind == CutSide::Kind::kAll;
    if (total) channels = cut.channels;
    return total;
  });
  return channels;
}

double PortRate(const NetworkSpec& spec, const std::string& worker) {
  const auto port = spec.port_bytes_per_s.find(worker);
  return port != spec.port_bytes_per_s.end() ? port->second : spec.channel_bytes_per_s;
}

std::string RackOf(const NetworkSpec& spec, const std::string& worker) {
  constexpr std::string_view kRack = "rack ";
  for (const NamedCut& cut : spec.cuts) {
    const std::string_view name = cut.name;
    const std::size_t last_space = name.rfind(' ');
    if (!name.starts_with(kRack) || last_space < kRack.size()) continue;
    const std::string_view direction = name.substr(last_space + 1);
    if (direction != "up" && direction != "down") continue;
    const std::vector<std::string>& inside = direction == "up" ? cut.from.workers : cut.to.workers;
    if (std::find(inside.begin(), inside.end(), worker) == inside.end()) continue;
    return std::string(name.substr(kRack.size(), last_space - kRack.size()));
  }
  return "";
}

void ApplyNetworkSpec(const NetworkSpec& spec, const std::vector<std::string>& worker_names,
                      planner::NetworkModel& network) {
  if (spec.channel_bytes_per_s > 0) network.seconds_per_byte = 1 / spec.channel_bytes_per_s;
  if (spec.latency_s >= 0) network.latency_s = spec.latency_s;
  if (spec.sharing_fraction > 0) {
    network.sharing_fraction = spec.sharing_fraction;
    network.cut_sharing_fraction = spec.cut_sharing_fraction;
    network.sharing_resent_fraction = spec.sharing_resent_fraction;
  }
  if (spec.transfer_gap_s > 0) network.transfer_gap_s = spec.transfer_gap_s;
  if (network.seconds_per_byte > 0 && !spec.port_bytes_per_s.empty()) {
    network.port_slowdown.assign(worker_names.size(), 1.0);
    for (std::size_t i = 0; i < worker_names.size(); ++i) {
      const auto port = spec.port_bytes_per_s.find(worker_names[i]);
      if (port == spec.port_bytes_per_s.end()) continue;
      network.port_slowdown[i] = std::max(1.0, 1 / (port->second * network.seconds_per_byte));
    }
  }
  for (const NamedCut& named : spec.cuts) {
    planner::Cut cut = CutFor(named, worker_names);
    if (AnyPairCrosses(cut)) network.cuts.push_back(std::move(cut));
  }
}

}  // namespace weir::master
