#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/client/command_host.h"
#include "runtime/client/session.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

struct FollowOptions {
  /// First Ctrl-C cancels the job and waits for its end; otherwise it only leaves.
  bool cancel_on_interrupt = false;
  bool show_progress = true;
  /// A line of the plan, or with `whole_plan` all of it.
  bool show_plan = true;
  bool whole_plan = false;
  /// Instead of both each status as a line of JSON.
  bool progress_json = false;
  /// For how long a stream that broke is opened again; and whether the master has answered before.
  MasterGrace grace = {};
  bool reached = false;
  /// Sees each status, the last one included. Null: nobody.
  std::function<void(const v1::JobStatus&)> on_status = nullptr;
};

struct FollowedJob {
  /// The terminal state, or why it is not known.
  absl::StatusOr<v1::JobStatus> status = absl::UnknownError("not followed");
  bool interrupted = false;
};

/// Follows a job until it ends, showing its plan and progress on stderr.
///
/// A stream that breaks is opened again for as long as `grace` says (kMasterPatience where no
/// master has answered yet), so that a job is followed over restarts of its master. A Ctrl-C while
/// the master is away, a second one, or a cancel that takes longer than the 10 s in which
/// everything ends, leave at once. Checked by: tests/unit/client/job_following_test.cc,
/// tests/integration/restart_test.py.
FollowedJob FollowJob(Session& session, const std::string& job_id, const FollowOptions& options,
                      CommandHost& host);

inline constexpr absl::Duration kMasterPatience = absl::Seconds(8);

}  // namespace weir::client
