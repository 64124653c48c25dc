// Flags of the daemons.

#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "runtime/client/flags/command_flags.h"

namespace weir::client {
namespace {

constexpr char kDaemonGroup[] = "Run a cluster";

void AddLog(CLI::App& command, LogOptions& log) {
  command
      .add_option("--log-format", log.format,
                  "'text' or 'json' (default: text on a terminal, else json)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("NAME");
  command.add_option("--log-level", log.level, "'info', 'warning' or 'error' (default: info)")
      ->check(CLI::IsMember({"info", "warning", "error"}))
      ->type_name("NAME");
}

void AddInsecure(CLI::App& command, bool& insecure) {
  command
      .add_flag("--insecure", insecure,
                "Allow plain text beyond this machine: everybody who reaches the port can run jobs")
      ->group("Security");
}

}  // namespace

void AddDaemonCommands(CLI::App& app, const TakeCommand& take) {
  auto master = std::make_shared<MasterDaemonOptions>();
  CLI::App* master_command =
      app.add_subcommand("master", "Serve a cluster: accept jobs, plan them, conduct them")
          ->group(kDaemonGroup);
  master_command->callback([take, master] { take(*master); });
  master->listen = "127.0.0.1:7117";
  master_command
      ->add_option("--listen", master->listen, "Address to listen on (default: 127.0.0.1:7117)")
      ->type_name("HOST:PORT");
  master_command
      ->add_option("--journal", master->journal,
                   "File that remembers jobs (default: $WEIR_JOURNAL, else "
                   "~/.local/state/weir/journal.db)")
      ->envname("WEIR_JOURNAL")
      ->type_name("FILE");
  AddRate(*master_command, "--channel-rate", master->channel_bytes_per_s,
          "Rate of one network channel, for example 1Gbit/s (the default)");
  AddDuration(*master_command, "--latency", master->latency,
              "Start-up time of one transfer (default: 1ms)");
  master_command
      ->add_option("--bisection-channels", master->bisection_channels,
                   "Transfers that the network carries at once (default: no limit)")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N");
  master_command
      ->add_option("--network", master->network_file,
                   "Rates, slow ports, racks and other cuts by names of workers (docs/network.md)")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  master_command
      ->add_option("--pacing-fraction", master->pacing_fraction,
                   "Share of a known channel rate that senders are paced at, 0.1 to 1; 0 = unpaced "
                   "(default: 0.97)")
      ->check([](const std::string& text) {
        double share = 0;
        const bool legal =
            absl::SimpleAtod(text, &share) && (share == 0 || (share >= 0.1 && share <= 1));
        return legal ? std::string() : "legal are 0 (unpaced) and 0.1 to 1";
      })
      ->group("Wire")
      ->type_name("SHARE");
  AddBytes(*master_command, "--look-ahead", master->look_ahead_bytes,
           "Bytes left of a transfer at which the next may begin on its ports; 0 = none left "
           "(default: 16KiB where the channel rate is known)");
  AddTls(*master_command, master->tls);
  AddInsecure(*master_command, master->insecure);
  AddLog(*master_command, master->log);
  master_command->footer(
      "Examples:\n"
      "  weir master\n"
      "  weir master --listen 0.0.0.0:7117 --tls-cert m.pem --tls-key m.key --tls-ca ca.pem "
      "--bisection-channels 4");

  auto worker = std::make_shared<WorkerDaemonOptions>();
  CLI::App* worker_command =
      app.add_subcommand("worker", "Serve a master with this machine's cores and disk")
          ->group(kDaemonGroup);
  worker_command->callback([take, worker] { take(*worker); });
  worker->master.address = "127.0.0.1:7117";
  worker->listen = "127.0.0.1:0";
  worker->data_listen = "127.0.0.1:0";
  worker_command
      ->add_option("--master", worker->master.address,
                   "Master to serve (default: $WEIR_MASTER, else 127.0.0.1:7117)")
      ->envname("WEIR_MASTER")
      ->type_name("HOST:PORT");
  worker_command
      ->add_option("--listen", worker->listen,
                   "Address for the master's orders (default: 127.0.0.1:0, any free port)")
      ->type_name("HOST:PORT");
  worker_command
      ->add_option("--data-listen", worker->data_listen,
                   "Address for other workers' fetches (default: 127.0.0.1:0, any free port)")
      ->type_name("HOST:PORT");
  worker_command
      ->add_option("--advertise", worker->advertise,
                   "Host by which master and workers reach this one (default: as in --listen)")
      ->type_name("HOST");
  worker_command
      ->add_option("--name", worker->name,
                   "Name of this worker, unique in the cluster (default: host:port of the data "
                   "address)")
      ->type_name("NAME");
  worker_command
      ->add_option("--slots", worker->slots, "Threads of a task process (default: one a core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  AddBytes(*worker_command, "--memory", worker->memory_bytes,
           "Memory that a task process may use (default: no limit)");
  worker_command
      ->add_option("--compute-rate", worker->compute_rate,
                   "How fast all slots together are, in unit workers (default: measured at the "
                   "start)")
      ->check(CLI::Range(0.001, 1e6))
      ->type_name("X");
  worker_command->add_flag_callback(
      "--no-measure", [worker] { worker->measure = false; },
      "Do not measure compute and disk rates at the start; count as one unit worker a slot");
  worker_command
      ->add_option("--work-dir", worker->work_dir,
                   "Directory for runs (default: $WEIR_WORK_DIR, $TMPDIR or /tmp)")
      ->envname("WEIR_WORK_DIR")
      ->type_name("DIR");
  worker_command
      ->add_option("--handover-domain", worker->handover_domain,
                   "Workers of one value share the file system of --work-dir and pass runs on as "
                   "files")
      ->type_name("NAME");
  worker_command
      ->add_option("--congestion-control", worker->congestion_control,
                   "TCP congestion control of every send, for example reno (default: bbr where "
                   "paced, else reno; cubic on loopback)")
      ->type_name("NAME");
  AddTls(*worker_command, worker->master.tls);
  AddInsecure(*worker_command, worker->insecure);
  AddLog(*worker_command, worker->log);
  worker_command->footer(
      "Examples:\n"
      "  weir worker\n"
      "  weir worker --master node1:7117 --listen 10.0.0.7:7118 --data-listen 10.0.0.7:7119 "
      "--insecure");
}

}  // namespace weir::client
