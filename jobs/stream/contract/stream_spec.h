#pragma once

// Everything that a streaming job was told, read once. Upstream: parameters of the job. Downstream:
// the program that feeds the scripts.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "jobs/stream/contract/field_cut.h"
#include "jobs/stream/contract/key_fields.h"
#include "jobs/stream/contract/properties.h"

namespace weir::stream {

enum class MapInput {
  kLines,     // the line alone
  kOffsets,   // byte offset TAB line
  kKeyValue,  // key, separator, value, cut at the first separator of the input
  kValue,     // that value alone
};
enum class Combining { kNone, kScript, kAggregate };
enum class Reducing { kScript, kAggregate, kIdentity, kNone };

/// A command as words, and as it was given.
struct ScriptCommand {
  std::string text;
  std::vector<std::string> words;
};

struct StreamSpec {
  ScriptCommand mapper;
  Combining combining = Combining::kNone;
  ScriptCommand combiner;
  Reducing reducing = Reducing::kIdentity;
  ScriptCommand reducer;

  Properties properties;
  std::vector<std::pair<std::string, std::string>> cmdenv;
  /// Values of properties in the environment are cut to so many bytes; negative: never.
  std::int64_t truncate = -1;

  MapInput map_input = MapInput::kLines;
  /// A mapper process for each file, so that its environment names it; else one for all files of a
  /// slot.
  bool process_a_file = true;
  /// A mapper process for so many lines of a file, counted from its beginning, as NLineInputFormat;
  /// 0: as many as there are.
  std::int64_t lines_a_process = 0;
  std::string input_separator;  // of lines of kKeyValue and kValue
  std::string map_input_separator;
  FieldCut map_output;
  std::string reduce_input_separator;
  FieldCut reduce_output;
  /// Of combiners, which write what reducers read: as `reduce_output` where the job says that, else
  /// so that what one hands on as it got it is the pair that it was.
  FieldCut combiner_output;
  std::string output_separator;

  bool partitions_by_fields = false;
  KeyFields partition_fields;
  bool orders_by_fields = false;
  KeyFields order_fields;

  bool non_zero_exit_fails = true;
  std::string reporter_prefix;
  /// A script that neither reads nor writes for so long hangs; 0: may be silent for ever.
  std::int64_t silence_ms = 0;
};

/// The parameters of the job `stream`.
std::vector<ParameterInfo> StreamParameters();

/// Requires: values passed CheckParameters. Errors: kInvalidArgument naming what is wrong; also for
/// properties that would change the result and that Weir does not know: they are never ignored.
/// Checked by: tests/unit/jobs/stream/stream_test.cc.
absl::StatusOr<StreamSpec> ReadStreamSpec(const ParameterValues& values);

}  // namespace weir::stream
