#pragma once

// A job's unit test: the whole job on a few texts, within the test's own process, without a cluster
// and for any test framework or none. Upstream: tests of authors (<weir/testing.h>) and ours.
// Downstream: in_process_job.h, in_process_loop.h.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "jobs/api/job_definition.h"
#include "jobs/api/loop.h"
#include "jobs/api/program.h"

namespace weir::testing {

/// What a job is run on, and how its work is cut.
struct JobRun {
  /// The texts of the input files, in their order.
  std::vector<std::string> inputs = {};
  /// As --set NAME=VALUE.
  std::vector<std::pair<std::string, std::string>> parameters = {};
  int mappers = 1;
  /// Of each layer.
  int reducers = 1;
  /// Threads of a step.
  int slots = 1;
  /// Partial results meet in a combine step before they are reduced, where the job's Element lets
  /// them.
  bool combine_steps = false;
  /// As --skip-bad.
  std::int64_t skip_bad = 0;
  /// As --no-check-operation, when false.
  bool check_operation = true;
  /// As --memory: of a step, and half of it, or all but 40 MiB, before it puts on disk what can be
  /// there, which is memory here. 0 = no limit.
  std::int64_t memory_bytes = 0;
};

/// What came of it.
struct JobResult {
  /// OK, or why the job would have ended.
  absl::Status status;
  /// What `weir run` calls that: BAD_RECORD, OUT_OF_MEMORY, NOT_COMMUTATIVE, USER_ERROR, ... Empty
  /// where it has no name of its own: parameters that are refused, and what the job's own functions
  /// return.
  std::string error_code;
  /// All parts, one after the other.
  std::string output;
  /// One a reducer of the last layer.
  std::vector<std::string> parts;
  /// What Present prints.
  std::string presented;
  /// Those of kCounters, over all steps.
  std::map<std::string, std::int64_t> counters;
  /// The records that were rejected, in the order in which they were met: those left out, then the
  /// one that ended the job, if one did. Their `file` is "input-0", "input-1", ...
  std::vector<BadRecord> bad_records;
  /// Of a loop: what each iteration said, from iteration 0.
  std::vector<LoopReport> iterations;

  bool ok() const { return status.ok(); }
};

/// Runs a job as `weir run` does: checks its parameters, maps, combines, reduces, presents.
///
/// Errors: in JobResult::status. What the job throws is USER_ERROR.
/// Requires: mappers, reducers, slots >= 1; else kInvalidArgument.
/// Thread-safety: as the job's. Blocking; files of the inputs and parts lie in the system's folder
///   for temporary files meanwhile.
/// Example:
///   const auto result = weir::testing::RunJob(Definition(), {.inputs = {"a\n", "b\na\n"}});
///   assert(result.ok() && result.output == "a\t2\nb\t1\n");
/// Checked by: tests/unit/jobs/run_job_test.cc, tests/integration/install_test.py.
JobResult RunJob(const JobDefinition& job, const JobRun& run);

/// Runs a job with its work cut in several ways (one to three mappers and reducers, one and two
/// slots, with and without combine steps) and compares.
///
/// Returns: OK where all give the same lines, counters and bad records, whatever the order of
/// lines;
///   the error of the first run that failed; kFailedPrecondition naming the cut and the first line
///   that only one of two has. A job that adds floating point numbers up may differ by rounding;
///   one whose kOneReducer needs all places has one reducer in all runs.
/// Checked by: tests/unit/jobs/run_job_test.cc.
absl::Status CheckCuts(const JobDefinition& job, const JobRun& run);

}  // namespace weir::testing
