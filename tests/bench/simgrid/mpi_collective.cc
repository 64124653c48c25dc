#include "tests/bench/simgrid/mpi_collective.h"

#include <simgrid/s4u.hpp>
// SMPI's <mpi.h> renames malloc, main and others: it comes last.
#include <smpi/mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/bench/simgrid/platform.h"

// In SimGrid's library, but in none of its installed headers: smpirun calls it after it has read
// the flags.
namespace simgrid::smpi::colls {
void set_collectives();
}

namespace weir::bench {

namespace {

// One run a process: SMPI calls the operation without an argument of ours.
double flops_per_byte = 0;
double first_begin_s = 0;
double last_end_s = 0;

void Combine(void*, void*, int* length, MPI_Datatype*) {
  smpi_execute_flops(static_cast<double>(*length) * sizeof(double) * flops_per_byte);
}

void RunRank(MpiOperation operation, std::int64_t bytes) {
  MPI_Init(nullptr, nullptr);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(Combine, /*commute=*/1, &op);
  const auto num_doubles = static_cast<int>(bytes / static_cast<std::int64_t>(sizeof(double)));
  const std::size_t held = std::max(static_cast<std::size_t>(bytes), sizeof(double));
  auto* mine = new unsigned char[held];
  auto* result = new unsigned char[held];
  // The first collective also sets up what the library keeps for a communicator.
  MPI_Reduce(mine, result, 1, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
  MPI_Allreduce(mine, result, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  // The barrier ends at different times; the collective begins for all at the same.
  simgrid::s4u::this_actor::sleep_until(first_begin_s);
  if (operation == MpiOperation::kReduce) {
    MPI_Reduce(mine, result, num_doubles, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
  } else {
    MPI_Allreduce(mine, result, num_doubles, MPI_DOUBLE, op, MPI_COMM_WORLD);
  }
  last_end_s = std::max(last_end_s, simgrid::s4u::Engine::get_clock());
  MPI_Barrier(MPI_COMM_WORLD);
  delete[] mine;
  delete[] result;
  MPI_Op_free(&op);
  MPI_Finalize();
}

}  // namespace

void ConfigureMpi(const std::string& selector) {
  using simgrid::s4u::Engine;
  smpi_init_options();
  Engine::set_config("smpi/coll-selector:" + selector);
  Engine::set_config("smpi/simulate-computation:no");
  Engine::set_config("smpi/privatization:no");
  simgrid::smpi::colls::set_collectives();
  SMPI_init();
}

absl::StatusOr<double> RunMpi(MpiOperation operation, const std::string& selector,
                              std::int64_t bytes, double combine_seconds_per_byte,
                              absl::Span<simgrid::s4u::Host* const> hosts) {
  namespace s4u = simgrid::s4u;
  if (bytes < 0 || bytes % 8 != 0 || bytes / 8 > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes is ", bytes, "; it must be a multiple of 8, at most 2^34"));
  }
  flops_per_byte = combine_seconds_per_byte * kFlopsPerSecond;
  first_begin_s = 1000;
  last_end_s = first_begin_s;
  const std::string instance = "collective-" + selector;
  SMPI_app_instance_register(instance.c_str(), nullptr, static_cast<int>(hosts.size()));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    s4u::ActorPtr actor = s4u::Actor::init(absl::StrCat("rank-", rank), hosts[rank]);
    actor->set_property("instance_id", instance);
    actor->set_property("rank", std::to_string(rank));
    actor->start([operation, bytes] { RunRank(operation, bytes); });
  }
  s4u::Engine::get_instance()->run();
  SMPI_finalize();
  return last_end_s - first_begin_s;
}

}  // namespace weir::bench
