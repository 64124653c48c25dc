#pragma once

// A cluster under virtual time: one master (restarted at will) on a journal and a file system that
// outlive it, workers, users. Upstream: scenarios. Downstream: the real Master, real WorkerDaemons.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/master/master.h"
#include "tests/sim/contents.h"
#include "tests/sim/data_plane.h"
#include "tests/sim/memory_journal.h"
#include "tests/sim/memory_storage.h"
#include "tests/sim/network.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/trace.h"
#include "tests/sim/virtual_time.h"

namespace weir::sim {

/// A job as its user knows it.
struct UserJob {
  v1::JobSpec spec;
  std::string id;        // empty until accepted
  absl::Status refused;  // not OK: the master would not take it
  v1::JobStatus status;  // as last seen
  MonoTime ended;        // when it was first seen terminal
  /// When it was first seen ending, somebody was there who could have done it.
  std::optional<bool> left_sound_worker;
  /// Nothing was wrong any more when it was handed in.
  bool must_succeed = false;
};

class World {
 public:
  World(std::uint64_t seed, const master::MasterOptions& options, JobRates rates, bool print);
  ~World();

  VirtualTime& time() { return time_; }
  SeededRandom& random() { return random_; }
  /// What master and workers share: inputs and outputs.
  MemoryStorage& storage() { return storage_; }
  /// The workers' own disks, each below a directory of its host's.
  MemoryStorage& disks() { return disks_; }
  MemoryJournal& journal() { return journal_; }
  Network& network() { return network_; }
  DataPlane& data_plane() { return data_plane_; }
  Trace& trace() { return trace_; }
  Contents& contents() { return contents_; }
  SimWallClock& wall_clock() { return wall_clock_; }
  std::vector<UserJob>& jobs() { return jobs_; }
  std::map<std::string, std::unique_ptr<SimWorker>>& workers() { return workers_; }
  const master::MasterOptions& options() const { return options_; }

  void Note(const std::string& event) { trace_.Note(time_.now(), event); }
  /// A promise was broken.
  void Wrong(const std::string& what);
  const std::vector<std::string>& wrong() const { return wrong_; }

  void StartMaster();
  /// The master that runs now. Requires: one was started and not killed since.
  master::Master& master();
  /// Work that it has given to its compute pool.
  int NumComputeRuns() const;
  /// What this master has its compute pool do, plans and edits, takes up to so long.
  void SlowPlanning(absl::Duration at_most);
  /// Threads of the master that wait, or do not, for disks that answer nobody: those that stage,
  /// publish and remove outputs, those that list inputs, and that of the journal.
  SimWorkPool& disk_pool();
  SimWorkPool& list_pool();
  SimWorkPool& journal_pool();
  /// Everything in the master's memory is gone; another one starts after `pause`.
  void RestartMaster(absl::Duration pause);
  /// As SIGTERM does: the master lets go of its jobs, then ends; another one starts after `pause`.
  void StopMaster(absl::Duration pause);
  /// As SIGSTOP and SIGCONT do: for so long nothing of the master runs, and all that comes waits.
  void HangMaster(absl::Duration pause);
  /// The next-but-`operations` file operation of the master is its last.
  void CrashMasterInStorage(int operations, absl::Duration pause);
  /// The next-but-`writes` write of the journal is the master's last: it is there, or it is not.
  void CrashMasterInJournal(int writes, bool written, absl::Duration pause);
  /// Masters that were started so far.
  int num_masters() const { return num_masters_; }
  void StartWorker(WorkerModel model);
  /// The master must know within a second, unless it is down or stood still itself by then.
  void KillWorker(const std::string& name);
  void HangWorker(const std::string& name, absl::Duration pause);
  /// As an upgrade does: the worker drains for at most so long and ends, is started again after
  /// `pause`, and then `done` is called.
  void UpgradeWorker(const std::string& name, absl::Duration at_most, absl::Duration pause,
                     env::Task done);
  /// Parts hosts, or heals what was parted; calls and bytes follow.
  void ChangeCuts(const std::string& what, const std::function<void(Cuts&)>& change);
  SimWorker* FindWorker(const std::string& name);
  /// Fills the disk that the worker shares with those of its host, or makes room on it.
  void FillDisk(const std::string& name);
  void MakeRoom(const std::string& name);
  /// A worker that was killed has nothing on its disk any more.
  void LoseFiles(const std::string& name);
  /// The machine of a worker goes off: what was not synced may be lost, and the next life of the
  /// worker is on another start of the machine. Nobody hears of it, if `silent`: what is sent there
  /// is lost until it is heard again (ChangeCuts).
  void CutPower(const std::string& name, bool silent);
  /// Whether anybody runs whom the master reaches, with room on its disk and tasks that start, go
  /// on and do not crash, and who was so all the time.
  bool AnySoundWorker();

  /// After `delay`: submits and keeps asking until it is accepted or refused.
  void Submit(absl::Duration delay, v1::JobSpec spec);
  /// Cancels a job if it was accepted by then.
  void Cancel(std::size_t job);
  void After(absl::Duration delay, env::Task task) {
    time_.At(time_.now() + delay, nullptr, std::move(task));
  }

  /// Calls `watch` whenever a step begins, on the way into its task.
  using StepWatch = std::function<void(const std::string& worker, const v1::StepOrder& order)>;
  void WatchSteps(StepWatch watch) { step_watch_ = std::move(watch); }
  void StepBegins(const std::string& worker, const v1::StepOrder& order) const {
    if (step_watch_) step_watch_(worker, order);
  }

  /// Runs until every job has ended (or was refused) and `settle` more, with a master that does not
  /// stand still; false when `limit` of
  /// virtual time or of events is over before that.
  bool Run(absl::Duration limit, absl::Duration settle);

 private:
  struct MasterProcess;
  void TrySubmit(std::size_t job);
  void Poll();
  bool AllEnded() const;
  bool MasterHangs() const;
  bool MasterServes() const;
  void SetFull(const std::string& name, bool full);
  void CheckNoticed(const std::string& worker, const std::string& incarnation);

  VirtualTime time_;
  SeededRandom random_;
  Trace trace_;
  Contents contents_;
  MemoryStorage storage_;
  MemoryStorage disks_;
  MemoryJournal journal_;
  Network network_;
  DataPlane data_plane_;
  SimWallClock wall_clock_;
  const master::MasterOptions options_;
  JobCatalog catalog_;
  std::unique_ptr<MasterProcess> master_;
  std::unique_ptr<MasterProcess> crashed_;  // dead, kept until the world is in its own turn
  std::map<std::string, std::unique_ptr<SimWorker>> workers_;
  std::vector<std::unique_ptr<SimWorker>> dead_workers_;
  std::map<std::string, std::uint64_t> machine_restarts_;  // by worker
  std::vector<UserJob> jobs_;
  std::vector<std::string> wrong_;
  int num_masters_ = 0;
  MonoTime master_went_on_;  // since it stood still
  StepWatch step_watch_;
};

}  // namespace weir::sim
