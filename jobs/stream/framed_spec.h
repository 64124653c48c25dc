#pragma once

// What a job of framed programs was told. Upstream: parameters of the job. Downstream: the program
// that feeds them.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "jobs/stream/contract/stream_spec.h"

namespace weir::stream {

struct FramedSpec {
  ScriptCommand mapper;
  ScriptCommand reducer;  // no words: what the mappers write is the result
  std::vector<std::pair<std::string, std::string>> environment;
  /// What holds for all scripts: how long they may be silent, how they report.
  StreamSpec scripts;

  bool reduces() const { return !reducer.words.empty(); }
};

/// The parameters of the job `framed`.
std::vector<ParameterInfo> FramedParameters();

/// Requires: values passed CheckParameters. Errors: kInvalidArgument naming what is wrong.
/// Checked by: tests/unit/jobs/stream/frames_test.cc.
absl::StatusOr<FramedSpec> ReadFramedSpec(const ParameterValues& values);

}  // namespace weir::stream
