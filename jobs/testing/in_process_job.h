#pragma once

// Runs the steps of a job one after the other within the test. Upstream: run_job.h, tests of jobs
// and of the engine, tests/bench. Downstream: JobProgram, memory_steps.h.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/job_definition.h"
#include "jobs/api/program.h"
#include "jobs/testing/memory_steps.h"

namespace weir::testing {

/// How a job is cut up.
struct JobCut {
  std::vector<std::vector<InputRange>> mappers;
  // Of the last layer.
  std::vector<double> consumer_key_end = {1.0};
  // Of the layers before it, in order.
  std::vector<std::vector<double>> inner_key_ends;
  int num_slots = 1;
  /// Layers (from 1) whose partial results one combine step brings together before they are
  /// reduced.
  std::vector<int> combined_layers;
};

/// What all steps of a job may do together, and what they said.
struct JobLog {
  std::int64_t memory_bytes = 0;  // of a step; 0 = no limit
  std::int64_t spill_above = 0;   // of a step; 0: there is no place for files
  int num_spills = 0;
  bool check_operation = true;
  bool input_is_shared = false;  // by all steps, in memory
  std::size_t skip_bad = 0;
  std::map<std::string, std::int64_t, std::less<>> counters;
  std::vector<BadRecord> skipped;
};

/// Runs one step under a context of its own, and adds what it said to `log`.
absl::Status RunStep(int num_slots, JobLog& log,
                     absl::FunctionRef<absl::Status(RecordingContext&)> step);

/// Maps, hands the sections over from layer to layer and reduces to parts, one per consumer.
/// Errors: those of the steps; kInternal for steps that count other than they write.
absl::StatusOr<std::vector<std::string>> RunJob(JobProgram& program, const JobCut& cut,
                                                JobLog& log);
absl::StatusOr<std::vector<std::string>> RunJob(JobProgram& program, const JobCut& cut);

/// Cuts files into `num_mappers` equal pieces of their concatenation and the keys into
/// `num_reducers` equal ranges.
JobCut EvenCut(const std::vector<std::string>& paths, int num_mappers, int num_reducers,
               int num_slots);

/// The program of a job with these parameters, which must be legal.
std::unique_ptr<JobProgram> ProgramOf(
    const JobDefinition& job, const std::vector<std::pair<std::string, std::string>>& given);

/// Runs a job on a text, cut evenly; returns all parts, one after the other.
absl::StatusOr<std::string> RunOnText(JobProgram& program, const std::string& text, int num_mappers,
                                      int num_reducers, int num_slots);

/// Upper ends of `count` equal key ranges.
std::vector<double> EvenKeyEnds(int count);

}  // namespace weir::testing
