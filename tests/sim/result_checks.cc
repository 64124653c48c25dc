#include "tests/sim/result_checks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/master/job/job_machine.h"

namespace weir::sim {
namespace {

void CheckPublished(World& world, const Expectations& expected, Findings& findings) {
  const std::vector<std::string> paths = world.storage().Paths();
  for (const std::string& path : paths) {
    const bool left = absl::StrContains(path, ".weir-");
    if (left && !expected.staging_may_stay) {
      findings.push_back(absl::StrCat("left behind: ", path));
    }
  }
  for (const UserJob& job : world.jobs()) {
    const std::string manifest = job.spec.output() + "/manifest.json";
    const bool published = std::find(paths.begin(), paths.end(), manifest) != paths.end();
    const bool succeeded = job.status.state() == v1::JOB_STATE_SUCCEEDED;
    if (published != succeeded) {
      findings.push_back(absl::StrCat(job.id, " is ", master::JobStateWord(job.status.state()),
                                      " but its output is ", published ? "there" : "missing"));
    }
    for (const v1::OutputPart& part : job.status.parts()) {
      const std::string path = absl::StrCat(job.spec.output(), "/", part.file());
      const auto info = world.storage().Stat(path);
      if (!info.ok() || info->bytes != part.bytes()) {
        findings.push_back(absl::StrCat("part ", path, " is not what the status says"));
      }
    }
  }
}

void CheckInputCounts(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    if (job.status.state() != v1::JOB_STATE_SUCCEEDED || job.status.counters_size() == 0) continue;
    std::int64_t total = 0;
    for (const std::string& input : job.spec.inputs()) total += world.storage().Stat(input)->bytes;
    if (job.status.counters(0).value() != total) {
      findings.push_back(
          absl::StrCat(job.id, " read ", job.status.counters(0).value(), " bytes of ", total));
    }
  }
}

/// Whether input pieces are exactly `whole`, each byte once, in whatever order.
bool IsWhole(std::vector<InputPiece> pieces, const std::vector<InputPiece>& whole) {
  std::sort(pieces.begin(), pieces.end());
  std::vector<InputPiece> joined;
  for (const InputPiece& piece : pieces) AppendInput(piece, joined);
  return joined == whole;
}

/// What each place of the last layer must be made of: the input, or all places of the layer before.
std::vector<InputPiece> WholeOf(const UserJob& job, World& world, int layers) {
  if (layers > 1) return {{NameOfLayer(layers - 1), 0, kLayerPlaces}};
  std::vector<InputPiece> whole;
  for (const std::string& input : job.spec.inputs()) {
    AppendInput({input, 0, world.storage().Stat(input)->bytes}, whole);
  }
  std::sort(whole.begin(), whole.end());
  return whole;
}

/// The attempts that count: of each step of the last plan, by whichever master made that, the one
/// that was committed last.
std::set<PartKey> CommittedSteps(World& world, const std::string& job_id) {
  std::map<std::int32_t, PartKey> last;
  std::pair<std::int64_t, std::int64_t> plan;  // master epoch, plan epoch
  std::int64_t master_epoch = 0;
  for (const v1::JournalRecord& record : world.journal().told()) {
    if (record.has_master_started()) master_epoch = record.master_started().master_epoch();
    if (record.job_id() != job_id || !record.has_step_committed()) continue;
    const auto& commit = record.step_committed();
    const std::pair of_plan{master_epoch, commit.plan_epoch()};
    if (of_plan > plan) last.clear();
    plan = std::max(plan, of_plan);
    last[commit.step()] = {master_epoch, commit.plan_epoch(), commit.step(), commit.attempt()};
  }
  std::set<PartKey> committed;
  for (const auto& [step, key] : last) committed.insert(key);
  return committed;
}

/// The output holds every place once, and each was made of every byte of the input once: what a
/// program that does one after the other would have found.
void CheckResults(World& world, Findings& findings) {
  for (const UserJob& job : world.jobs()) {
    if (job.status.state() != v1::JOB_STATE_SUCCEEDED || job.spec.job() != "simjob") continue;
    const std::set<PartKey> committed = CommittedSteps(world, job.id);
    double end = 0;
    const auto pieces = world.contents().CommittedParts(job.id, committed);
    for (const ContentPiece& piece : pieces) {
      if (piece.begin != end) {
        findings.push_back(absl::StrCat(job.id, ": after place ", end, " comes ", piece.begin));
        break;
      }
      end = piece.end;
      if (IsWhole(piece.input, WholeOf(job, world, world.contents().LayersOf(job.id)))) continue;
      findings.push_back(absl::StrCat(job.id, ": places ", piece.begin, " to ", piece.end,
                                      " were not made of the whole input once"));
      break;
    }
    std::int64_t total = 0;
    for (const std::string& input : job.spec.inputs()) total += world.storage().Stat(input)->bytes;
    if (end != 1 && total > 0) {
      findings.push_back(absl::StrCat(job.id, ": the output ends with place ", end));
    }
  }
}

}  // namespace

void CheckOutput(World& world, const Expectations& expected, Findings& findings) {
  CheckPublished(world, expected, findings);
  CheckInputCounts(world, findings);
  CheckResults(world, findings);
}

void CheckMadeOf(const std::vector<InputPiece>& inputs, const UserJob& job, World& world,
                 Findings& findings) {
  double end = 0;
  for (const ContentPiece& piece : world.contents().ResultOf(job.id)) {
    if (piece.begin > end || piece.input != inputs) {
      findings.push_back(absl::StrCat(job.id, " has a wrong result behind ", end));
      return;
    }
    end = std::max(end, piece.end);
  }
  if (end < 1) findings.push_back(absl::StrCat(job.id, " has a result up to ", end, " only"));
}

}  // namespace weir::sim
