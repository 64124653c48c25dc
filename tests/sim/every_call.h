#pragma once

// A workload in which every RPC is called, so that a fault of any of them has something to strike.
// Upstream: every_call_test.cc. Downstream: World, SimUser.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/scenario.h"
#include "tests/sim/sim_user.h"

namespace weir::sim {

/// A cluster, whose workers get slow one by one, and its users: one calibrates, sends an artifact,
/// dry-runs (twice, once in pieces), submits two jobs, watches the first to its end, cancels the
/// second and asks for all there is to know; three form a group.
///
/// They ask again until they are answered, as clients do. What comes out is known whatever calls
/// suffer: two jobs, one group, one artifact.
class EveryCall {
 public:
  explicit EveryCall(std::uint64_t seed);
  ~EveryCall();

  World& world() { return *scenario_.world; }
  CallFaults& faults() { return world().network().call_faults(); }
  const UserJob& job() const { return scenario_.world->jobs()[0]; }
  /// Runs to the end. Returns one sentence for every promise that was broken.
  std::vector<std::string> Run();

 private:
  void Calibrate();
  void AskCalibration(bool start);
  void Send(std::int64_t offset);
  void JoinGroup();
  void Plan();
  void PlanInPieces();
  void Submit(std::size_t job);
  void FollowJobs();
  void AskForAll(const v1::JobStatus& ended);
  void CheckUsers(std::vector<std::string>& findings);

  Scenario scenario_;
  std::vector<std::unique_ptr<SimUser>> users_;
  std::string artifact_;  // its bytes
  std::string artifact_hash_;
  int num_workers_ = 0;
  int calibrations_ = 0;
  bool measured_ = false;
  std::vector<v1::JoinGroupResponse> joined_;
  v1::JobStatus watched_;
  int answered_ = 0;  // of the last questions
};

}  // namespace weir::sim
