#include "runtime/master/output/output_places.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weir::master {
namespace {

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

OutputPlaces::OutputPlaces(const std::string& output_path, const std::string& job_id)
    : output(WithoutTrailingSlashes(output_path)),
      staging(absl::StrCat(output, kStagingInfix, job_id)),
      marker(absl::StrCat(staging, "/.weir-job-", job_id)),
      replaced(absl::StrCat(output, kReplacedInfix, job_id)),
      removed(absl::StrCat(output, ".weir-removed-", job_id)) {}

std::string PartName(int index) { return absl::StrFormat("part-%05d", index); }

std::string StagedPartName(int index, int attempt) {
  return absl::StrFormat("part-%05d.%d", index, attempt);
}

}  // namespace weir::master
