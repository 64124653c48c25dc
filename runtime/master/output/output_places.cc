#include "runtime/master/output/output_places.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir::master {
namespace {

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string NameInLife(const std::string& job_id, std::int64_t life) {
  return life == 0 ? job_id : absl::StrCat(job_id, ".", life);
}

}  // namespace

OutputPlaces::OutputPlaces(const std::string& output_path, const std::string& job_id,
                           std::int64_t life)
    : output(WithoutTrailingSlashes(output_path)),
      staging(absl::StrCat(output, kStagingInfix, NameInLife(job_id, life))),
      marker(absl::StrCat(staging, "/.weir-job-", job_id)),
      replaced(absl::StrCat(output, kReplacedInfix, NameInLife(job_id, life))),
      removed(absl::StrCat(output, ".weir-removed-", NameInLife(job_id, life))) {}

std::string PathIn(const std::string& directory, absl::string_view name) {
  return absl::StrCat(directory, "/", name);
}

std::string PartName(int index) { return absl::StrFormat("part-%05d", index); }

std::string StagedPartName(int index, std::int64_t plan_epoch, int attempt) {
  return absl::StrFormat("part-%05d.%d.%d", index, plan_epoch, attempt);
}

bool IsStagedPartName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "part-")) return false;
  const std::vector<absl::string_view> numbers = absl::StrSplit(name, '.');
  return numbers.size() == 3 && absl::c_all_of(numbers, [](absl::string_view number) {
           return !number.empty() && absl::c_all_of(number, absl::ascii_isdigit);
         });
}

}  // namespace weir::master
