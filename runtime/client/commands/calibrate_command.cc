// weir calibrate: starts a measurement of the network, follows it, shows and keeps what was found.

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/check_places.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/value_text.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/status_json.h"

namespace weir::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::Duration kAskEvery = absl::Milliseconds(250);
// A master that is busy or restarts is asked again for this long.
constexpr absl::Duration kPatience = absl::Seconds(8);

// Asks again and again until the calibration has ended. Everything runs on the session's loop,
// which the calling thread drives.
class CalibrationFollower {
 public:
  CalibrationFollower(Session& session, const CalibrateOptions& options, CommandHost& host)
      : session_(session), options_(options), host_(host) {
    request_.set_calibration_id(absl::StrFormat("c-%016x", host.random.Next()));
    request_.set_start(true);
    request_.set_seconds_max(options.seconds_max);
  }

  absl::StatusOr<v1::MeasuredNetwork> Follow() {
    session_.OnInterrupt([this] { OnInterrupt(); });
    session_.loop().Post([this] { Ask(); });
    session_.RunUntil([this] { return ended_.has_value(); });
    session_.OnInterrupt([] {});
    if (timer_) session_.loop().CancelTimer(*timer_);
    ClearLine();
    return *std::move(ended_);
  }

 private:
  void Ask() {
    session_.jobs().Send<rpc::Calibrate>(request_,
                                         [this](absl::StatusOr<v1::CalibrateResponse> response) {
                                           if (!ended_) OnAnswer(std::move(response));
                                         });
  }

  void OnAnswer(absl::StatusOr<v1::CalibrateResponse> response) {
    const MonoTime now = session_.loop().Now();
    if (!response.ok()) {
      if (!broken_since_) broken_since_ = now;
      const bool again =
          started_ && absl::IsUnavailable(response.status()) && now - *broken_since_ < kPatience;
      if (!again) {
        ended_ = response.status();
        return;
      }
    } else {
      broken_since_.reset();
      started_ = true;
      request_.set_start(false);
      if (response->done()) {
        ended_ = std::move(*response->mutable_network());
        return;
      }
      Show(*response);
    }
    timer_ = session_.loop().RunAt(now + kAskEvery, [this] {
      timer_.reset();
      Ask();
    });
  }

  void OnInterrupt() {
    if (interrupted_) {
      ended_ = absl::CancelledError("left before the calibration had ended");
      return;
    }
    interrupted_ = true;
    request_.set_cancel(true);
    ClearLine();
    host_.err << "weir: ending the calibration; Ctrl-C again leaves at once\n" << std::flush;
  }

  void Show(const v1::CalibrateResponse& response) {
    if (options_.quiet) return;
    const std::string line = absl::StrFormat("calibrating %3.0f %%  %s",
                                             100 * response.done_fraction(), response.doing());
    if (host_.terminal.is_terminal) {
      ClearLine();
      host_.err << line.substr(0, static_cast<std::size_t>(host_.terminal.columns) - 1)
                << std::flush;
      line_shown_ = true;
    } else if (response.doing() != last_doing_) {
      last_doing_ = response.doing();
      host_.err << line << '\n' << std::flush;
    }
  }

  void ClearLine() {
    if (line_shown_) host_.err << "\r\033[K" << std::flush;
    line_shown_ = false;
  }

  Session& session_;
  const CalibrateOptions& options_;
  CommandHost& host_;
  v1::CalibrateRequest request_;
  std::optional<absl::StatusOr<v1::MeasuredNetwork>> ended_;
  std::optional<env::EventLoop::TimerId> timer_;
  std::optional<MonoTime> broken_since_;
  std::string last_doing_;
  bool started_ = false;
  bool interrupted_ = false;
  bool line_shown_ = false;
};

Json NetworkToJson(const v1::MeasuredNetwork& network) {
  Json json;
  json["channel_bytes_per_s"] = network.channel_bytes_per_s();
  json["latency_s"] = network.latency_s();
  json["ports"] = Json::array();
  for (const auto& port : network.ports()) {
    json["ports"].push_back({{"worker", port.worker()},
                             {"up_bytes_per_s", port.up_bytes_per_s()},
                             {"down_bytes_per_s", port.down_bytes_per_s()},
                             {"slow", port.slow()}});
  }
  json["cuts"] = Json::array();
  for (const auto& cut : network.cuts()) {
    json["cuts"].push_back({{"name", cut.name()},
                            {"channels", cut.channels()},
                            {"measured_channels", cut.measured_channels()},
                            {"bytes_per_s", cut.bytes_per_s()}});
  }
  json["racks"] = Json::array();
  for (const auto& rack : network.racks()) {
    Json workers = Json::array();
    for (const auto& worker : rack.workers()) workers.push_back(worker);
    json["racks"].push_back({{"name", rack.name()}, {"workers", workers}});
  }
  json["load"] = Json::array();
  for (const auto& point : network.load()) {
    json["load"].push_back(
        {{"transfers", point.transfers()}, {"channel_bytes_per_s", point.channel_bytes_per_s()}});
  }
  const v1::MeasuredNetwork::Sharing& sharing = network.sharing();
  json["sharing"] = {
      {"transfer_gap_s", sharing.transfer_gap_s()},     {"port_fraction", sharing.port_fraction()},
      {"cut_fraction", sharing.cut_fraction()},         {"segments_sent", sharing.segments_sent()},
      {"segments_resent", sharing.segments_resent()},   {"port_queue_s", sharing.port_queue_s()},
      {"port_queue_bytes", sharing.port_queue_bytes()}, {"cut_queue_s", sharing.cut_queue_s()},
      {"cut_queue_bytes", sharing.cut_queue_bytes()},   {"workers", sharing.workers()}};
  json["notes"] = Json::array();
  for (const auto& note : network.notes()) json["notes"].push_back(note);
  json["network_file"] = Json::parse(network.spec_json(), nullptr, false);
  json["rounds"] = network.rounds();
  json["probes"] = network.probes();
  json["seconds"] = network.seconds();
  return json;
}

// What order and sharing cost, where it was measured.
void PrintSharing(const v1::MeasuredNetwork::Sharing& sharing, std::ostream& out) {
  if (sharing.transfer_gap_s() > 0) {
    out << absl::StrFormat("\ngap            %.2f ms of idle line between two ordered transfers\n",
                           1e3 * sharing.transfer_gap_s());
  }
  if (sharing.port_fraction() <= 0) return;
  out << absl::StrFormat("all to all     %d workers, without order: %.1f %% of a port's rate",
                         sharing.workers(), 100 * sharing.port_fraction());
  if (sharing.cut_fraction() > 0) {
    out << absl::StrFormat(", %.1f %% of a limit's", 100 * sharing.cut_fraction());
  }
  out << absl::StrFormat("; %d of %d segments sent again\n", sharing.segments_resent(),
                         sharing.segments_sent())
      << absl::StrFormat("queues         of a port: %.1f ms, %.0f kB or more",
                         1e3 * sharing.port_queue_s(), 1e-3 * sharing.port_queue_bytes());
  if (sharing.cut_fraction() > 0) {
    out << absl::StrFormat("; of a limit and a port: %.1f ms, %.0f kB or more",
                           1e3 * sharing.cut_queue_s(), 1e-3 * sharing.cut_queue_bytes());
  }
  out << '\n';
}

void PrintNetwork(const v1::MeasuredNetwork& network, std::ostream& out) {
  out << absl::StrFormat("channel rate   %s\n", FormatRate(network.channel_bytes_per_s()))
      << absl::StrFormat("latency        %.2f ms (order, first byte and report of one transfer)\n",
                         1e3 * network.latency_s());
  std::string slow;
  for (const auto& port : network.ports()) {
    if (!port.slow()) continue;
    absl::StrAppend(&slow, slow.empty() ? "" : ", ", port.worker(), " (up ",
                    FormatRate(port.up_bytes_per_s()), ", down ",
                    FormatRate(port.down_bytes_per_s()), ")");
  }
  out << "slow ports     " << (slow.empty() ? "none" : slow) << '\n';
  if (network.cuts().empty()) {
    out << "limits         none found beyond the ports\n";
  } else {
    out << absl::StrFormat("\n%-32s %8s %9s %s\n", "LIMIT", "CHANNELS", "MEASURED", "RATE");
    for (const auto& cut : network.cuts()) {
      out << absl::StrFormat("%-32s %8d %9.2f %s\n", cut.name(), cut.channels(),
                             cut.measured_channels(), FormatRate(cut.bytes_per_s()));
    }
  }
  if (!network.racks().empty()) out << absl::StrFormat("\n%-32s %s\n", "RACK", "WORKERS");
  for (const auto& rack : network.racks()) {
    out << absl::StrFormat("%-32s %s\n", rack.name(), absl::StrJoin(rack.workers(), ", "));
  }
  if (!network.load().empty()) {
    out << absl::StrFormat("\n%-32s %s\n", "TRANSFERS AT ONCE", "RATE OF A CHANNEL");
    for (const auto& point : network.load()) {
      out << absl::StrFormat("%-32d %s\n", point.transfers(),
                             FormatRate(point.channel_bytes_per_s()));
    }
  }
  PrintSharing(network.sharing(), out);
  out << '\n';
  for (const auto& note : network.notes()) out << "note: " << note << '\n';
  out << absl::StrFormat("%d probes in %d rounds, %s\n", network.probes(), network.rounds(),
                         FormatSeconds(network.seconds()));
}

}  // namespace

int Calibrate(const CalibrateOptions& options, CommandHost& host) {
  // Not after minutes in which no job ran.
  if (!options.output_file.empty()) {
    const absl::Status writable = CheckWritable("--output", options.output_file, host);
    if (!writable.ok()) return ReportCallError(writable, options.json, host);
  }
  auto session = host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  const auto network = CalibrationFollower(**session, options, host).Follow();
  if (!network.ok()) return ReportCallError(network.status(), options.json, host);
  if (options.json) {
    host.out << JsonDocument({{"network", NetworkToJson(*network)}});
  } else {
    PrintNetwork(*network, host.out);
  }
  // A script that submits jobs next must not take them to be planned by this.
  const bool stored = network->unix_ms() != 0;
  if (!stored) {
    host.err
        << "weir: the measurements contradict each other, and the master does not plan by them: "
           "calibrate again when nothing else uses the network\n";
  }
  if (options.output_file.empty()) return stored ? kExitOk : kExitJobFailed;
  const absl::Status written = host.storage.WriteNamed(
      AbsolutePath(options.output_file, host.working_directory), network->spec_json() + "\n");
  if (written.ok()) return stored ? kExitOk : kExitJobFailed;
  host.err << "weir: the network is measured" << (stored ? " and stored by the master" : "")
           << ", but " << options.output_file
           << " is not written: " << std::string(written.message()) << '\n';
  return kExitRefused;
}

}  // namespace weir::client
