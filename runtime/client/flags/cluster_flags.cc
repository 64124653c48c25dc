// Flags of the commands that run a cluster, but for the daemons.

#include <memory>

#include "runtime/client/flags/command_flags.h"

namespace weir::client {
namespace {

void AddCalibrate(CLI::App& app, const TakeCommand& take) {
  std::shared_ptr<CalibrateOptions> options;
  CLI::App& command =
      AddCommand(app, "calibrate", "Measure the network between the workers of a cluster",
                 kClusterGroup, take, options);
  AddMaster(command, options->master);
  AddCount(command, "--seconds", options->seconds_max, 1, 600,
           "Stop after so many seconds and say what is missing (default: 120)")
      ->type_name("S");
  command
      .add_option("--output", options->output_file,
                  "Write what was found as a file for 'weir master --network' (docs/network.md)")
      ->type_name("FILE");
  AddJson(command, options->json);
  command.add_flag("-q,--quiet", options->quiet, "No progress on stderr");
  command.footer(
      "Examples:\n"
      "  weir calibrate --master node1:7117\n"
      "  weir calibrate --output network.json --seconds 60\n"
      "Finds channel rate, latency, slow ports, racks and limits, the gap between two\n"
      "transfers of an order, and what ports and limits carry when all fetch from all.\n"
      "No job may run meanwhile; jobs that are submitted wait. The master remembers the\n"
      "result, unless its measurements contradict each other: then it ends with 1.");
}

}  // namespace

void AddClusterCommands(CLI::App& app, const TakeCommand& take) {
  AddCalibrate(app, take);
  AddMasterDaemon(app, take);
  AddWorkerDaemon(app, take);
}

}  // namespace weir::client
