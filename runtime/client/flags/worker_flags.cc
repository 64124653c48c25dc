// Flags of the worker daemon.

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cmath>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/client/flags/command_flags.h"

namespace weir::client {
namespace {

// Which lies within every range: it is neither below nor above an end.
std::string RefuseNan(const std::string& text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isnan(number)) return "";
  return absl::StrCat("'", text, "' is no number");
}

// "fe80::1%eth0" too, whose end only the machine itself can judge.
bool IsIpv6(const std::string& text) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &ignored) == 1;
}

// A port will follow, so that an address of colons gets brackets: without them it is taken for a
// name that nobody knows.
std::string AdvertisedHost(const std::string& text) {
  const std::string host(absl::StripAsciiWhitespace(text));
  if (host.find_first_of(" \t\n") != std::string::npos) {
    throw CLI::ValidationError(
        "--advertise", absl::StrCat("'", host,
                                    "' is more than one host; give the one that the master and "
                                    "all workers can reach"));
  }
  if (host.find(':') == std::string::npos) return host;
  absl::string_view address = host;
  if (absl::ConsumePrefix(&address, "[") && !absl::ConsumeSuffix(&address, "]")) address = "";
  if (IsIpv6(std::string(address))) return absl::StrCat("[", address, "]");
  throw CLI::ValidationError(
      "--advertise", absl::StrCat("'", host,
                                  "' is neither a name nor an address; a port belongs to --listen "
                                  "and --data-listen"));
}

}  // namespace

void AddWorkerDaemon(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<WorkerDaemonOptions> options;
  CLI::App& command = AddCommand(app, "worker", "Serve a master with this machine's cores and disk",
                                 kClusterGroup, take, options);
  options->master.address = kDefaultMaster;
  options->listen = "127.0.0.1:0";
  options->data_listen = "127.0.0.1:0";
  AddMasterAddress(command, options->master.address,
                   "Master to serve (default: $WEIR_MASTER, else 127.0.0.1:7117)")
      ->envname("WEIR_MASTER");
  command
      .add_option("--listen", options->listen,
                  "Address for the master's orders (default: 127.0.0.1:0, any free port)")
      ->type_name("HOST:PORT");
  command
      .add_option("--data-listen", options->data_listen,
                  "Address for other workers' fetches (default: 127.0.0.1:0, any free port)")
      ->type_name("HOST:PORT");
  command
      .add_option_function<std::string>(
          "--advertise",
          [options](const std::string& host) { options->advertise = AdvertisedHost(host); },
          "Host by which master and workers reach this one (default: as in --listen)")
      ->type_name("HOST");
  command
      .add_option("--name", options->name,
                  "Name of this worker, unique in the cluster (default: host:port of the data "
                  "address)")
      ->type_name("NAME");
  AddCount(
      command, "--slots", options->slots, 1, 1024,
      "Threads of a task process (default: one a core, as far as a CPU quota keeps them busy)");
  AddBytes(
      command, "--memory", options->memory_bytes,
      "Memory that a task process may use; what it may put on disk goes there before (default: "
      "no limit, and to disk beyond 60% of what is free, by the cores that --slots takes)");
  command
      .add_option("--compute-rate", options->compute_rate,
                  "How fast all slots together are, in unit workers (default: measured at the "
                  "start)")
      ->check(CLI::Range(0.001, 1e6))
      ->check(RefuseNan)
      ->type_name("X");
  AddRate(command, "--disk-write-rate", options->disk_write_bytes_per_s,
          "How fast the disk of --work-dir is written, for example 200MB/s (default: measured at "
          "the start; with --no-measure give --disk-read-rate, too)");
  AddRate(command, "--disk-read-rate", options->disk_read_bytes_per_s,
          "How fast it is read (default: measured at the start)");
  AddDuration(
      command, "--task-start", options->task_start,
      {.least = absl::Milliseconds(1), .most = absl::Minutes(10)},
      "How long a task process takes to start, 1ms to 10m (default: measured at the start)");
  command.add_flag_callback(
      "--no-measure", [options] { options->measure = false; },
      "Do not measure compute and disk rates at the start; count as one unit worker a slot");
  command
      .add_option("--work-dir", options->work_dir,
                  "Directory for runs (default: $WEIR_WORK_DIR, $XDG_STATE_HOME/weir/work, "
                  "/var/lib/weir/work for root, ~/.local/state/weir/work for others)")
      ->envname("WEIR_WORK_DIR")
      ->type_name("DIR");
  command
      .add_option("--handover-domain", options->handover_domain,
                  "Workers of one value share the file system of --work-dir and pass runs on as "
                  "files")
      ->type_name("NAME");
  command
      .add_option("--congestion-control", options->congestion_control,
                  "TCP congestion control of every send, for example reno (default: bbr where "
                  "paced, else reno; cubic on loopback)")
      ->type_name("NAME");
  AddDuration(command, "--master-grace", options->master_grace, {.most = kMasterGraceMax},
              "How long to try to register while no master answers, 0s to 1 day; then the worker "
              "ends with exit status 3 (default: 10m)");
  AddListenerSecurity(command, options->master.tls, options->master.token_file, options->insecure);
  AddLog(command, options->log);
  command.footer(
      "Examples:\n"
      "  weir worker\n"
      "  weir worker --master node1:7117 --listen 10.0.0.7:7118 \\\n"
      "    --data-listen 10.0.0.7:7119 --insecure");
}

}  // namespace weir::client
