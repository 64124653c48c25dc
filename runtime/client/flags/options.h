#pragma once

// What the user asked for: one plain struct a command, values checked and in base units.
// Upstream: command_line.h. Downstream: commands (runtime/client), daemons (runtime/app).

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

namespace weir::client {

/// The longest a master may be away, unless a flag says otherwise: its machine is restarted, or
/// replaced by hand.
inline constexpr absl::Duration kMasterGraceDefault = absl::Minutes(10);

/// Paths of PEM files; all three or none.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string authority;
  bool given() const { return !certificate.empty(); }
};

/// Which master to talk to.
struct MasterAddress {
  std::string address;
  TlsFiles tls;
  std::string token_file;  // empty = the user's own
};

/// How long a command waits for a master that is away.
struct MasterGrace {
  absl::Duration at_most = kMasterGraceDefault;
  bool given = false;  // by the user: counts from the first try, else from the first answer on
};

/// A cluster inside this process: one master, some workers.
struct EmbeddedOptions {
  int workers = 0;  // 0 = one, or as many as cores for a job that does not reduce on slots
  int slots = 0;    // 0 = as many as cores where nothing is said of workers, else one
  std::int64_t memory_bytes = 0;
  std::string work_dir;     // empty = $TMPDIR or /tmp
  bool no_history = false;  // neither use nor keep what runs taught
  std::string typed;        // the first of these flags on the command line; empty = none
};

/// A file that goes with a job, and the name that tasks find it by: in their working directory, or
/// unpacked into a folder of that name.
struct ShippedPath {
  std::string path;
  std::string name;
  bool unpack = false;
};

/// The job itself.
struct JobOptions {
  std::string job;
  std::string module;  // file that holds the job; empty = Weir itself
  std::vector<ShippedPath> files;
  std::vector<std::string> inputs;
  std::string output;
  std::vector<std::pair<std::string, std::string>> parameters;
  int mappers = 0;
  std::vector<int> reducers;  // none, one for all layers, or one for each layer
  std::int64_t skip_bad = 0;
  std::string plan_method;
  std::string plan_file;  // run exactly this plan; empty = the planner's
  std::string write_mode;
  std::string codec;
  std::string combine;
  bool no_sample = false;
  bool no_check_operation = false;
  bool overwrite = false;
  int priority = 0;
  absl::Duration deadline;
};

/// Where to put pictures of a plan; empty = nowhere.
struct PictureOptions {
  std::string gantt;
  std::string trace;
};

struct RunOptions {
  JobOptions job;
  MasterAddress master;  // empty = embedded
  EmbeddedOptions embedded;
  PictureOptions pictures;
  MasterGrace grace;
  bool json = false;
  bool quiet = false;
  bool verbose = false;         // the whole plan
  bool progress_json = false;   // each status on stderr, as a line of JSON
  bool end_with_stdin = false;  // as if interrupted
};
/// `weir streaming`.
struct StreamingOptions {
  RunOptions run;
  bool mark_success = true;
};
/// `weir hadoop`: the words that a program would give to Hadoop's own.
struct HadoopOptions {
  std::vector<std::string> words;
  std::string hdfs_root;  // directory that is hdfs:///; empty = the user's own
  MasterAddress master;   // empty = embedded
};
/// `weir hadoop-home`.
struct HadoopHomeOptions {};
struct SubmitOptions {
  JobOptions job;
  MasterAddress master;
  PictureOptions pictures;
  MasterGrace grace;
  bool wait = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool progress_json = false;
};
struct PlanOptions {
  JobOptions job;
  MasterAddress master;  // empty = embedded
  EmbeddedOptions embedded;
  PictureOptions pictures;
  bool json = false;
};
struct WatchOptions {
  MasterAddress master;
  std::string job_id;
  MasterGrace grace = {};
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};
struct StatusOptions {
  MasterAddress master;
  std::string job_id;
  bool json = false;
  MasterGrace grace = {};
};
struct ListOptions {
  enum class What { kJobs, kWorkers, kMetrics };
  MasterAddress master;
  What what = What::kJobs;
  int max_jobs = 0;   // 0: 100 are listed; 1000 are looked through for a state, and for metrics
  std::string state;  // list only jobs in it, "unfinished" in any that is not the last; empty: all
  std::string alive;  // succeed only if this worker is; empty: nobody asks
  bool json = false;
};
struct CancelOptions {
  MasterAddress master;
  std::string job_id;
  std::string reason;
  bool json = false;
};
struct LogsOptions {
  MasterAddress master;
  std::string job_id;
  bool json = false;
};
struct ExplainOptions {
  MasterAddress master;
  std::string job_id;
  PictureOptions pictures;
  bool json = false;
};
struct CalibrateOptions {
  MasterAddress master;
  int seconds_max = 0;      // 0 = the master's default
  std::string output_file;  // network file; empty = none
  bool json = false;
  bool quiet = false;
};
struct JobsOptions {
  std::string job;     // empty = all
  std::string module;  // whose jobs; empty = Weir's own
  bool json = false;
};
struct PlannerOptions {
  enum class Kind { kLoad, kTree };
  Kind kind = Kind::kLoad;
  std::string instance_file;
  std::string method;  // load only
  // Tree only: which instance to draw or plan (empty = the first with a schedule) and where to.
  std::string picture_id;
  std::string gantt_file;
  std::string drawing_file;
  std::string plan_file;
  bool json = false;
};
struct VerifyOptions {
  std::string output;
  bool json = false;
};
/// `weir data generate`.
struct GenerateDataOptions {
  std::string job;
  std::string output;  // file
  std::int64_t records = 0;
  std::int64_t first_record = 0;
  std::uint64_t seed = 1;
  double skew = 0;
  bool overwrite = false;
  bool json = false;
};
/// `weir data validate`.
struct ValidateDataOptions {
  std::string job;
  std::vector<std::string> paths;   // files or directories, in order
  std::vector<std::string> inputs;  // must hold the same records in any order; empty = not asked
  bool any_order = false;
  bool json = false;
};
struct CompletionOptions {
  enum class Shell { kBash, kZsh, kFish };
  Shell shell = Shell::kBash;
};
/// `weir new job`.
struct NewJobOptions {
  std::string name;
  std::string directory;  // empty = one of the name
};
struct ManOptions {
  std::string command;    // empty = the program itself
  std::string directory;  // where to write all pages; empty = one page to stdout
};
struct VersionOptions {
  bool json = false;
};

/// How a daemon logs.
struct LogOptions {
  std::string format;  // "text", "json"; empty = text on a terminal
  std::string level = "info";
};
struct MasterDaemonOptions {
  std::string listen;
  std::string journal;                                // file; empty = the default place
  double channel_bytes_per_s = 0;                     // 0 = default
  absl::Duration latency = absl::InfiniteDuration();  // infinite = default
  int bisection_channels = 0;
  int running_jobs_max = 0;                                // 0 = default
  double pacing_fraction = -1;                             // negative = default
  std::int64_t look_ahead_bytes = -1;                      // negative = default
  std::int64_t jobs_kept = 0;                              // 0 = default
  absl::Duration jobs_kept_for;                            // 0 = default
  absl::Duration worker_grace = absl::InfiniteDuration();  // infinite = default
  std::string network_file;  // rates, slow ports and cuts by names of workers; empty = none
  TlsFiles tls;
  std::string token_file;  // empty = the user's own
  bool insecure = false;
  LogOptions log;
};
struct WorkerDaemonOptions {
  MasterAddress master;
  std::string listen;
  std::string data_listen;
  std::string advertise;  // host that others reach this worker by; empty = host of `listen`
  std::string name;
  int slots = 0;  // 0 = one per core
  std::int64_t memory_bytes = 0;
  std::string work_dir;  // empty = where cleaners do not sweep (runtime/app/machine.h)
  std::string handover_domain;
  std::string congestion_control;
  absl::Duration master_grace = kMasterGraceDefault;
  // 0 = measured, of this and the three below.
  double compute_rate = 0;
  double disk_write_bytes_per_s = 0;
  double disk_read_bytes_per_s = 0;
  absl::Duration task_start;
  bool measure = true;
  bool insecure = false;
  LogOptions log;
};

using Command =
    std::variant<RunOptions, StreamingOptions, HadoopOptions, HadoopHomeOptions, SubmitOptions,
                 PlanOptions, WatchOptions, StatusOptions, ListOptions, CancelOptions, LogsOptions,
                 ExplainOptions, CalibrateOptions, JobsOptions, PlannerOptions, VerifyOptions,
                 GenerateDataOptions, ValidateDataOptions, CompletionOptions, NewJobOptions,
                 ManOptions, VersionOptions, MasterDaemonOptions, WorkerDaemonOptions>;

}  // namespace weir::client
