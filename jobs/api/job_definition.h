#pragma once

// What Weir knows of a job without running it: name, parameters, layers, how to start it and how to
// show its result. Upstream: jobs/<job>. Downstream: the CLI (help, parameters, Present), the
// master (validation, shape), the task.

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/element.h"
#include "jobs/api/job_data.h"
#include "jobs/api/loop.h"
#include "jobs/api/program.h"

namespace weir {

/// One `--set name=value`. Integers have a legal range; an empty default means "not set".
struct ParameterInfo {
  enum class Type { kInteger, kString };
  std::string name;
  Type type = Type::kString;
  std::string default_value;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::vector<std::string> choices;  // strings only; empty = any
  std::string help;
};

/// Values after CheckParameters: every declared name is present.
using ParameterValues = absl::btree_map<std::string, std::string>;

/// Rates of one reduce layer. A layer with another after it counts the mapping for that one in: it
/// happens in the same step.
struct LayerRates {
  double reduce_seconds_per_byte = 10e-9;
  double output_ratio = 1.0;
};

/// How the output of mappers grows with what they read, where a combiner finds more and more of the
/// keys again: a chunk of x bytes makes map_output_ratio (x / at_bytes)^(power - 1) bytes a byte.
struct OutputGrowth {
  /// Chunk on which map_output_ratio was measured, bytes; 0 = it holds for every size. >= 0.
  double at_bytes = 0;
  /// In (0, 1].
  double power = 1;
  /// What a byte of output takes beside map_seconds_per_byte, which then is of what is read alone.
  double seconds_per_output_byte = 0;
};

/// Rates the planner starts from when nothing was measured yet: of inputs too small to be sampled.
struct JobRates {
  double map_seconds_per_byte = 4e-9;
  double map_output_ratio = 0.05;
  /// One per reduce layer of the job, in order; at least one.
  std::vector<LayerRates> layers = std::vector<LayerRates>(1);
  OutputGrowth output_growth = {};
};

/// Static description of a job.
struct JobInfo {
  std::string name;
  std::string summary;  // one line
  std::vector<ParameterInfo> parameters;
  JobRates rates;  // rates.layers says how many layers there are
  /// Whether the pairs of a record follow from the record alone. Where they do not (a script counts
  /// lines, or has state), a map step whose run is lost is made again as it was and never in parts,
  /// for those who lack their sections. Of a module it is taken as true (jobs/api/README.md).
  bool pairs_follow_from_record = true;
  /// Whether a reduce step uses all slots of its worker. Where it has one script, as many workers
  /// of one slot do more than one of many; `weir run` has them then. Of a module it is not asked:
  /// true.
  bool reduces_on_slots = true;
};

/// One job. Implementations are stateless and thread-safe.
class JobDefinition {
 public:
  virtual ~JobDefinition() = default;
  virtual const JobInfo& info() const = 0;
  /// Checks what CheckParameters cannot: values that must fit each other, or hold a list. Asked
  /// when a job is submitted. Requires: values passed CheckParameters. Errors: kInvalidArgument
  /// naming the parameter, the value and what is legal.
  virtual absl::Status CheckValues(const ParameterValues& values) const;
  /// Requires: values passed CheckParameters and CheckValues.
  virtual absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const = 0;
  /// What reduce layer `layer` (from 1) could combine before it reduces.
  /// Requires: values passed CheckParameters.
  virtual ElementInfo Element(const ParameterValues& values, int layer) const;
  /// The loop that the job is; nothing for all others. Requires: values passed CheckParameters.
  /// Errors: kInvalidArgument naming a parameter that does not fit others.
  virtual absl::StatusOr<std::optional<LoopInfo>> Loop(const ParameterValues& values) const;
  /// Prints the result for a person after success, from the finished part files (paths in part
  /// order).
  virtual absl::Status Present(absl::Span<const std::string> part_paths,
                               const ParameterValues& values, std::ostream& out) const = 0;
  /// What `weir data` can make and check for this job; null when there is nothing.
  virtual const JobData* data() const { return nullptr; }
};

/// The jobs of one program, by name. Filled by hand in runtime/app, so that none is lost at link
/// time.
using JobCatalog = absl::btree_map<std::string, std::unique_ptr<JobDefinition>>;

/// Fills in defaults and checks names, types, ranges and choices.
/// Errors: kInvalidArgument naming the parameter, the value and what is legal, with the nearest
/// name for a typo.
absl::StatusOr<ParameterValues> CheckParameters(
    const JobInfo& info, absl::Span<const std::pair<std::string, std::string>> given);

}  // namespace weir
