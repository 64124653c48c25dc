#include "tests/sim/random_cluster.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::sim {

int StartRandomCluster(std::uint64_t seed, master::MasterOptions options, SeededRandom& draw,
                       Scenario& scenario, double one_host_chance) {
  WorkerModel model;
  model.channel_seconds_per_byte = options.channel_seconds_per_byte;
  scenario.world = std::make_unique<World>(seed, std::move(options), JobRates(), /*print=*/false);
  scenario.world->StartMaster();
  const int num_workers = static_cast<int>(draw.Between(2, 8));
  model.handover_domain = draw.Chance(one_host_chance) ? "host" : "";
  for (int w = 0; w < num_workers; ++w) {
    model.name = WorkerName(w);
    scenario.world->StartWorker(model);
  }
  return num_workers;
}

std::string WorkerName(std::int64_t number) { return absl::StrCat("worker-", number); }

std::vector<InputPiece> WriteRandomInputs(std::int64_t bytes_max, SeededRandom& draw,
                                          World& world) {
  std::vector<InputPiece> inputs;
  const std::int64_t num_files = draw.Between(1, 3);
  for (std::int64_t f = 0; f < num_files; ++f) {
    const std::string path = absl::StrCat("/in/", f);
    const std::int64_t bytes = draw.Between(10'000'000, bytes_max);
    world.storage().WriteSized(path, bytes).IgnoreError();
    inputs.push_back({path, 0, bytes});
  }
  return inputs;
}

}  // namespace weir::sim
