#pragma once

// What a simulated worker process runs on. Upstream: SimWorker. Downstream: its tasks, its ends of
// the data plane.

#include <memory>
#include <string>

#include "tests/sim/virtual_time.h"
#include "tests/sim/worker_model.h"
#include "tests/sim/worker_storage.h"

namespace weir::sim {

class World;

/// One life of a worker: started again, it is another one.
struct SimProcess {
  SimProcess(World& in, WorkerModel what);

  World& world;
  const WorkerModel model;
  WorkerFaults faults;
  const std::shared_ptr<ProcessLoop> loop;
  WorkerStorage storage;

  const std::string& name() const { return model.name; }
  std::string control_endpoint() const { return model.name + ":7001"; }
  std::string data_endpoint() const { return model.name + ":7002"; }
  bool runs() const { return loop->alive() && !loop->hung(); }
};

}  // namespace weir::sim
