// One reduction on SimGrid: a schedule of planner/tree replayed message by message, or MPI_Reduce
// or MPI_Allreduce as SimGrid's SMPI carries it out. Prints one JSON object. SimGrid can be set up
// once a process: tests/bench/simgrid/run calls this program for every cell of its table.
//
// reduction_judge --hosts P --bytes N [--combine SECONDS_PER_BYTE] [--crossbar] (--schedule NAME
// [--cuts] | --mpi SELECTOR [--allreduce])
//
// NAME is chosen (ChooseReduction's winner under the tree's cuts), chosen blind (its winner without
// them) or a family; SELECTOR one of SimGrid's: ompi, mpich,
// ...

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"
#include "tests/bench/simgrid/contenders.h"
#include "tests/bench/simgrid/mpi_collective.h"
#include "tests/bench/simgrid/plan_replay.h"
#include "tests/bench/simgrid/platform.h"

namespace weir::bench {
namespace {

struct Options {
  std::int32_t num_hosts = 16;
  std::int64_t bytes = 1 << 20;
  double combine_seconds_per_byte = 0;
  bool crossbar = false;
  bool cuts = false;
  bool allreduce = false;
  std::string schedule;
  std::string mpi;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--crossbar") {
      options->crossbar = true;
    } else if (flag == "--cuts") {
      options->cuts = true;
    } else if (flag == "--allreduce") {
      options->allreduce = true;
    } else if (++i == argc) {
      return false;
    } else if (flag == "--hosts") {
      options->num_hosts = std::atoi(argv[i]);
    } else if (flag == "--bytes") {
      options->bytes = std::atoll(argv[i]);
    } else if (flag == "--combine") {
      options->combine_seconds_per_byte = std::atof(argv[i]);
    } else if (flag == "--schedule") {
      options->schedule = argv[i];
    } else if (flag == "--mpi") {
      options->mpi = argv[i];
    } else {
      return false;
    }
  }
  return options->num_hosts >= 1 && options->bytes >= 1 &&
         options->schedule.empty() != options->mpi.empty();
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "reduction_judge: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Judge(const Options& options) {
  absl::StatusOr<FatTree> tree = options.crossbar
                                     ? absl::StatusOr<FatTree>(Crossbar(options.num_hosts))
                                     : QuarterBisection(options.num_hosts);
  if (!tree.ok()) return Fail(tree.status());
  ConfigureSimGrid();
  if (!options.mpi.empty()) ConfigureMpi(options.mpi);
  const auto hosts = BuildPlatform(*tree);
  nlohmann::ordered_json line = {{"hosts", options.num_hosts},
                                 {"bytes", options.bytes},
                                 {"combine_s_per_byte", options.combine_seconds_per_byte},
                                 {"operation", options.allreduce ? "allreduce" : "reduce"},
                                 {"simgrid", SimGridVersion()}};
  if (!options.mpi.empty()) {
    const MpiOperation operation =
        options.allreduce ? MpiOperation::kAllreduce : MpiOperation::kReduce;
    absl::StatusOr<double> time_s =
        RunMpi(operation, options.mpi, options.bytes, options.combine_seconds_per_byte, hosts);
    if (!time_s.ok()) return Fail(time_s.status());
    line["mpi"] = options.mpi;
    line["simgrid_s"] = *time_s;
  } else {
    const Reduction reduction{*tree, options.bytes, options.combine_seconds_per_byte};
    const bool blind = options.schedule == "chosen blind";
    const std::clock_t begin = std::clock();
    absl::StatusOr<Contender> contender =
        blind || options.schedule == "chosen"
            ? Chosen(reduction, /*knows_cuts=*/!blind, options.cuts)
            : Family(options.schedule, reduction, options.cuts);
    if (!contender.ok()) return Fail(contender.status());
    line["schedule"] = options.schedule;
    line["cuts"] = options.cuts;
    line["plan_cpu_s"] = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    line["method"] = contender->name;
    line["segments"] = contender->num_segments;
    line["transfers"] = contender->plan.transfers.size();
    line["scheduled_s"] = contender->scheduled_s;
    line["predicted_s"] = contender->predicted_s;
    absl::StatusOr<planner::Seconds> time_s = ReplayPlan(contender->plan, hosts);
    if (!time_s.ok()) return Fail(time_s.status());
    line["simgrid_s"] = *time_s;
  }
  line["cpu_s"] = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  simgrid::s4u::Engine engine(&argc, argv);  // takes SimGrid's own flags (--log, --cfg)
  weir::bench::Options options;
  if (!weir::bench::Parse(argc, argv, &options)) {
    std::fprintf(
        stderr,
        "usage: reduction_judge --hosts P --bytes N [--combine SECONDS_PER_BYTE] [--crossbar] "
        "(--schedule NAME [--cuts] | --mpi SELECTOR [--allreduce])\n");
    return 2;
  }
  return weir::bench::Judge(options);
}
