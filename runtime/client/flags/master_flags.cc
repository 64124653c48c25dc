// Flags of the master.

#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "runtime/client/flags/command_flags.h"

namespace weir::client {
namespace {

std::string CheckPacingFraction(const std::string& text) {
  double share = 0;
  const bool legal = absl::SimpleAtod(text, &share) && (share == 0 || (share >= 0.1 && share <= 1));
  return legal ? std::string() : "legal are 0 (unpaced) and 0.1 to 1";
}

}  // namespace

void AddMasterDaemon(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<MasterDaemonOptions> options;
  CLI::App& command =
      AddCommand(app, "master", "Serve a cluster: accept jobs, plan them, conduct them",
                 kClusterGroup, take, options);
  options->listen = kDefaultMaster;
  command.add_option("--listen", options->listen, "Address to listen on (default: 127.0.0.1:7117)")
      ->type_name("HOST:PORT");
  command
      .add_option("--journal", options->journal,
                  "File that remembers jobs (default: $WEIR_JOURNAL, "
                  "$XDG_STATE_HOME/weir/journal.db or ~/.local/state/weir/journal.db)")
      ->envname("WEIR_JOURNAL")
      ->type_name("FILE");
  AddCount(command, "--keep-jobs", options->jobs_kept, 1, 100'000,
           "Ended jobs that are remembered; older ones go from the journal (default: 1000)");
  AddDuration(command, "--keep-jobs-for", options->jobs_kept_for,
              {.least = absl::Minutes(1), .most = absl::Hours(24 * 3660)},
              "How long after its end a job is remembered, 1m to ten years (default: 720h)");
  AddRate(command, "--channel-rate", options->channel_bytes_per_s,
          "Rate of one network channel, for example 1Gbit/s (the default)");
  AddDuration(command, "--latency", options->latency, {.most = absl::Minutes(1)},
              "Start-up time of one transfer 0s to 1m (default: 1ms)");
  AddCount(command, "--bisection-channels", options->bisection_channels, 1, 100'000,
           "Transfers that the network carries at once (default: no limit)");
  command
      .add_option("--network", options->network_file,
                  "Rates, slow ports, racks and other cuts by names of workers (docs/network.md)")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  AddCount(command, "--max-running-jobs", options->running_jobs_max, 1, 100,
           "Jobs that run at once, one place of them for a small one (default: 4; 1 = one "
           "after the other)");
  command
      .add_option("--pacing-fraction", options->pacing_fraction,
                  "Share of a known channel rate that senders are paced at, 0.1 to 1; 0 = unpaced "
                  "(default: 0.97)")
      ->check(CheckPacingFraction)
      ->group("Wire")
      ->type_name("SHARE");
  AddBytes(command, "--look-ahead", options->look_ahead_bytes,
           "Bytes left of a transfer at which the next may begin on its ports; 0 = none left "
           "(default: 16KiB where the channel rate is known)");
  AddDuration(command, "--worker-grace", options->worker_grace, {.most = absl::Hours(24)},
              "How long a job waits for workers that it lost and cannot do without, 0s to 24h "
              "(default: 30s)");
  AddListenerSecurity(command, options->tls, options->token_file, options->insecure);
  AddLog(command, options->log);
  command.footer(
      "Examples:\n"
      "  weir master\n"
      "  weir master --listen 0.0.0.0:7117 --tls-cert m.pem --tls-key m.key \\\n"
      "    --tls-ca ca.pem --bisection-channels 4");
}

}  // namespace weir::client
