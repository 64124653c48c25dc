#pragma once

// A small project around one job, for its author to go on with. Upstream: weir new job. Downstream:
// job_templates.h.

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace weir::client {

/// Longest name of a job's project: file and target names are made of it.
inline constexpr std::size_t kProjectNameBytesMax = 64;

struct ProjectFile {
  std::string name;  // within the project's folder
  std::string text;
};

/// Checks that `name` can name classes, files and CMake targets.
/// Errors: kInvalidArgument saying what is wrong and, where there is one, which name near it is
/// right. Checked by: tests/unit/client/job_project_test.cc.
absl::Status CheckProjectName(const std::string& name);

/// The files of a project whose job is `name`, for `version` ("0.1.0") of Weir: job, test, CMake
/// file, README. Requires: a name that CheckProjectName passes.
/// Checked by: tests/unit/client/job_project_test.cc, tests/integration/install_test.py (which
/// builds, tests and runs it).
std::vector<ProjectFile> JobProject(const std::string& name, const std::string& version);

}  // namespace weir::client
