#pragma once

// What commands stand on. Upstream: runtime/app fills it. Downstream: commands.

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "jobs/api/job_definition.h"
#include "runtime/client/flags/options.h"
#include "runtime/client/session.h"
#include "runtime/env/event_loop.h"
#include "runtime/env/storage.h"
#include "weir/v1/module.pb.h"

namespace weir::client {

/// How to write to a person.
struct Terminal {
  bool is_terminal = false;  // stderr; only then progress is redrawn in place
  int columns = 80;
};

struct CommandHost {
  std::ostream& out;
  std::ostream& err;
  Terminal terminal;
  /// Of stdout: what users' code wrote must not steer it.
  bool out_is_terminal = false;
  /// Relative paths of the user start here.
  std::string working_directory;
  /// Who submits: "alice@node7".
  std::string user;
  const JobCatalog& catalog;
  env::Storage& storage;
  env::Random& random;
  /// Any steady clock, for `weir planner`.
  std::function<double()> now_micros;
  /// Asks a short-lived process about a module, for at most so long; see ModuleAnswer.
  std::function<absl::StatusOr<v1::ModuleAnswer>(const v1::ModuleRequest&, absl::Duration)>
      ask_module;
  std::function<absl::StatusOr<std::unique_ptr<Session>>(const MasterAddress&)> connect;
  /// A cluster for this job.
  std::function<absl::StatusOr<std::unique_ptr<Session>>(const EmbeddedOptions&, const JobOptions&)>
      start_embedded;
  /// Absolute path of this program.
  std::string program = {};
  /// The wall clock, to tell people when something ends.
  std::function<std::int64_t()> unix_ms = [] { return 0; };
  /// The directory that is hdfs:/// unless the user names one.
  std::string hdfs_root = {};
};

}  // namespace weir::client
