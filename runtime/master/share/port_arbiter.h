#pragma once

// Orders the transfers of several jobs on the ports and cuts that they share. Pure.
// Upstream: PortShare, one a job. Downstream: nothing.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "runtime/base/mono_time.h"
#include "runtime/master/workers/worker_leases.h"

namespace weir::master {

/// One cut by ids of workers (planner::Cut has them by their places in a plan).
struct SharedCut {
  std::vector<WorkerId> from;  // rising
  std::vector<WorkerId> to;    // rising
  double channels = 1;
  friend bool operator==(const SharedCut&, const SharedCut&) = default;
};

/// A transfer as the ports see it.
struct PortUse {
  WorkerId sender = 0;
  WorkerId receiver = 0;
  /// Part of a channel that it takes of each cut that it crosses, above 0 and at most 1.
  double channels = 1;
  /// As planned, alone on its ports.
  double seconds = 0;
};

/// Says of several jobs which may use a port next.
///
/// Jobs stand in an order (OrderCoflows by the seconds that they still need each port and cut),
///   made anew when one comes or goes; the weight of a job grows with the time that it has been
///   there, by as much again each kAgeing, so that small ones that keep coming do not stop a large
///   one for ever. A transfer may move when
///   - no job before its own in the order waits for one of its ports;
///   - other jobs move nothing on its ports, or all that do stand behind its own job, at most
///     kJobsAPort - 1 of them, and are expected to need longer than the transfer itself would: the
///     two then share the port, and the small job does not wait for a large piece. What is overdue
///     is expected to need as long again as it is overdue;
///   - the cuts that it crosses have the channels left. Transfers of one sender together use no
///   more
///     than its port carries, so they count once, by the one that takes most. What a job before it
///     waits for of a cut is left to it.
///   What a transfer would need beside that which it waits for is nobody's meanwhile.
///   A job that is here alone moves whatever it likes.
/// Requires: rules of the job's own plan are kept by its scheduler. The callback of a job does not
///   call back at once.
/// Thread-safety: none. Time: passed in, must not go backwards. MayMove looks at the jobs that have
///   to do with the transfer's two ports, however much these move or want, and, where both ports
///   are free, at the senders whose transfers cross its cuts.
/// Checked by: tests/unit/master/port_arbiter_test.cc, port_arbiter_property_test.cc (beside an
///   oracle without indexes), several_conductors_property_test.cc.
class PortArbiter {
 public:
  using JobId = std::int64_t;
  using MoveId = std::int32_t;

  /// Most jobs that move on one port at once.
  static constexpr std::size_t kJobsAPort = 2;
  static constexpr absl::Duration kAgeing = absl::Minutes(1);

  /// A job comes. `uses`: all that it will move, by id. `wake` is called when it should take a
  /// turn.
  JobId Join(double weight, std::vector<SharedCut> cuts, std::vector<PortUse> uses, MonoTime now,
             std::function<void()> wake);
  /// It goes, and whatever it still moves with it. Idempotent.
  void Leave(JobId job, MonoTime now);

  /// From here to EndTurn the job asks. What it wanted before counts no more.
  void BeginTurn(JobId job, MonoTime now);
  bool MayMove(JobId job, MoveId move);
  void EndTurn(JobId job);
  /// Whether there are several jobs, and cuts: then what one of them moves takes channels that it
  /// needs for others of its own.
  bool shares_cuts() const;
  /// Between turns: it will take no more.
  void Withdraw(JobId job);
  void Moves(JobId job, MoveId move, MonoTime until);
  /// A move that began, or one that will never, is over.
  void Passed(JobId job, MoveId move);

  /// After a turn that was refused something: when time alone may allow it.
  std::optional<MonoTime> next_look(JobId job) const { return jobs_.at(job).next_look; }
  /// Jobs in their order, first to last.
  std::vector<JobId> order() const { return order_; }

 private:
  /// What keeps a transfer that could start now.
  struct WaitsFor {
    bool send_port = false;
    bool receive_port = false;
    bool cuts = false;
    bool anything() const { return send_port || receive_port || cuts; }
    friend bool operator==(const WaitsFor&, const WaitsFor&) = default;
  };
  /// What a turn was refused, by move.
  struct Wants {
    struct Want {
      WaitsFor waits;  // for nothing: none
      bool listed = false;
    };
    std::vector<Want> of;
    std::vector<MoveId> listed;  // among them all that wait for anything
    std::size_t num = 0;         // that do
  };
  /// Places of a transfer's ports in ports_.
  struct Ends {
    std::size_t send_port = 0;
    std::size_t receive_port = 0;
  };
  struct Job {
    double weight = 1;
    MonoTime joined;
    std::vector<std::int32_t> cuts;  // places in cuts_
    std::vector<PortUse> uses;
    std::vector<Ends> ends;  // by move, as uses
    std::vector<bool> passed;
    std::function<void()> wake;
    std::size_t rank = 0;
    absl::btree_map<MoveId, MonoTime> moving;  // until
    Wants wants;
    Wants wanted_before;  // in the turn before
    std::optional<MonoTime> next_look;
  };
  /// What one job has to do with a port. Stays until the job leaves.
  struct PortRow {
    const Job* job = nullptr;
    std::vector<MonoTime> moves_until;  // rising
    std::int64_t num_wants = 0;         // that wait for the port
  };
  using Port = std::vector<PortRow>;
  /// What one job wants to move across a cut and waits for it.
  struct CutWants {
    const Job* job = nullptr;
    absl::btree_multiset<double> channels;
  };
  struct CutUse {
    SharedCut cut;
    std::int32_t num_jobs = 0;  // 0: free for another, and nothing is counted
    absl::btree_map<WorkerId, absl::btree_multiset<double>> moving;  // channels, by sender
    std::vector<CutWants> wanted;
  };

  void Reorder(MonoTime now);
  void WakeRefused(JobId but, std::size_t from_rank);
  /// `seconds`: as planned, of the transfer that asks.
  bool PortFree(const Job& job, const Port& port, absl::Duration seconds,
                std::optional<MonoTime>& look) const;
  bool CutsFree(const Job& job, const PortUse& use) const;
  static bool Crosses(const SharedCut& cut, const PortUse& use);
  /// Counting `more`, which crosses it.
  static double ChannelsUsed(const CutUse& known, const PortUse& more);

  Ends EndsOf(const PortUse& use);
  static PortRow& RowOf(const Job& job, Port& port);
  void SetWant(Job& job, MoveId move, const WaitsFor& waits);
  void ClearWants(Job& job);
  /// Notes a want in ports and cuts, or takes it out.
  void CountWant(const Job& job, MoveId move, const WaitsFor& waits, bool add);
  void CountMove(const Job& job, MoveId move, MonoTime until, bool add);
  static void CountMoveIn(CutUse& known, const PortUse& use, bool add);
  static void CountWantIn(CutUse& known, const Job& job, const PortUse& use, bool add);
  void BeginCounting(CutUse& known);
  void StopCounting(const Job& job);

  std::map<JobId, Job> jobs_;  // which stay where they are: rows name them
  std::vector<JobId> order_;
  std::vector<CutUse> cuts_;
  absl::btree_map<WorkerId, std::size_t> places_;  // of a worker's send port
  std::vector<Port> ports_;  // send and receive port of one worker after the other
  JobId last_id_ = 0;
  MonoTime now_;
};

}  // namespace weir::master
