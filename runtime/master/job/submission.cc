#include "runtime/master/job/submission.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/nearest_name.h"
#include "runtime/master/input/earlier_results.h"
#include "runtime/master/input/input_expansion.h"
#include "runtime/master/output/old_output.h"
#include "runtime/master/output/staged_output.h"
#include "runtime/master/planning/codec_choice.h"
#include "runtime/master/planning/given_plan.h"
#include "runtime/master/planning/plan_request.h"
#include "runtime/master/planning/write_mode.h"
#include "runtime/modules/job_description.h"

namespace weir::master {
namespace {

absl::Status Invalid(const std::string& message, const std::string& advice = {}) {
  return StatusFromJobError(absl::StatusCode::kInvalidArgument,
                            MakeJobError(job_error::kInvalidJob, message, advice));
}

/// Different numbers of reducers need one for each layer.
absl::Status CheckLayers(const JobInfo& info, const v1::JobSpec& spec) {
  const auto num_layers = static_cast<int>(info.rates.layers.size());
  const int given = spec.layer_reducers_size();
  if (given == 0 || given == num_layers) {
    if (given == 0 || spec.num_reducers() == 0) return absl::OkStatus();
    return Invalid("num_reducers and layer_reducers are both given", "give one of them");
  }
  return Invalid(
      absl::StrCat("numbers of reducers for ", given, " layers are given, but job '", info.name,
                   "' has ", num_layers, num_layers == 1 ? " layer" : " layers"),
      "give one number for all layers, or one for each layer");
}

/// Says before the job starts what each reducer but one would refuse.
absl::Status CheckWholeValues(const JobDefinition& job, const ParameterValues& values,
                              const v1::JobSpec& spec) {
  const auto num_layers = static_cast<int>(job.info().rates.layers.size());
  for (int layer = 1; layer <= num_layers; ++layer) {
    const int reducers =
        spec.layer_reducers().empty() ? spec.num_reducers() : spec.layer_reducers(layer - 1);
    if (reducers > 1 && job.Element(values, layer).one_reducer) {
      return Invalid(absl::StrCat("the result of job '", job.info().name,
                                  "' is made of the whole value, by one reducer; ", reducers,
                                  " are asked for"),
                     "leave --reducers out, or ask for 1");
    }
  }
  return absl::OkStatus();
}

/// A tree that was asked for needs something to combine.
absl::Status CheckCombine(const JobDefinition& job, const ParameterValues& values,
                          const v1::JobSpec& spec) {
  const auto combine = planner::ParseCombineChoice(spec.combine());
  if (!combine.ok()) return Invalid(std::string(combine.status().message()));
  if (*combine != planner::CombineChoice::kTree) return absl::OkStatus();
  const absl::StatusOr<std::optional<LoopInfo>> loop = job.Loop(values);
  if (!loop.ok()) return Invalid(std::string(loop.status().message()));
  if (loop->has_value()) return absl::OkStatus();
  const auto num_layers = static_cast<int>(job.info().rates.layers.size());
  for (int layer = 1; layer <= num_layers; ++layer) {
    if (job.Element(values, layer).kind != ElementKind::kNone) return absl::OkStatus();
  }
  return Invalid(planner::CannotCombineText(job.info().name),
                 "leave --combine tree out, or choose a job that has one");
}

/// Says before a loop starts what its planner would refuse. A given plan is no choice of ways.
absl::Status CheckLoop(const JobDefinition& job, const ParameterValues& values,
                       const v1::JobSpec& spec, planner::PlanMethod method,
                       planner::FinalWrite write) {
  if (spec.has_plan()) return absl::OkStatus();
  const absl::StatusOr<std::optional<LoopInfo>> loop = job.Loop(values);
  if (!loop.ok()) return Invalid(std::string(loop.status().message()));
  if (!loop->has_value()) return absl::OkStatus();
  const int reducers = spec.layer_reducers().empty() ? spec.num_reducers() : spec.layer_reducers(0);
  const absl::Status sound = planner::CheckLoopChoices(job.info().name, method, write, reducers);
  return sound.ok() ? sound : Invalid(std::string(sound.message()));
}

absl::Status CheckAgainstCatalog(const JobCatalog& catalog, const v1::JobSpec& spec) {
  const std::shared_ptr<const JobDefinition> job = FindJob(catalog, spec);
  if (job == nullptr) {
    std::vector<std::string> names;
    for (const auto& [name, definition] : catalog) names.push_back(name);
    const std::string nearest = NearestName(spec.job(), names);
    return Invalid(
        absl::StrCat("there is no job '", spec.job(), "'",
                     nearest.empty() ? "" : absl::StrCat(" (the nearest is '", nearest, "')")),
        absl::StrCat("there are ", absl::StrJoin(names, ", ")));
  }
  std::vector<std::pair<std::string, std::string>> given;
  for (const v1::JobParameter& parameter : spec.parameters()) {
    given.emplace_back(parameter.name(), parameter.value());
  }
  absl::StatusOr<ParameterValues> values = CheckParameters(job->info(), given);
  if (!values.ok()) return Invalid(std::string(values.status().message()));
  absl::Status fit = job->CheckValues(*values);
  if (!fit.ok()) return Invalid(std::string(fit.message()));
  absl::Status layers = CheckLayers(job->info(), spec);
  if (!layers.ok()) return layers;
  if (absl::Status whole = CheckWholeValues(*job, *values, spec); !whole.ok()) return whole;
  const auto method = planner::ParsePlanMethod(spec.plan_method());
  if (!method.ok()) return Invalid(std::string(method.status().message()));
  absl::StatusOr<planner::StoreShape> store = ParseWriteMode(spec.write_mode());
  if (!store.ok()) return Invalid(std::string(store.status().message()));
  const auto codec = ParseCodecChoice(spec.codec());
  if (!codec.ok()) return Invalid(std::string(codec.status().message()));
  absl::Status loop = CheckLoop(*job, *values, spec, method->method, store->write);
  if (!loop.ok()) return loop;
  return CheckCombine(*job, *values, spec);
}

}  // namespace

absl::StatusOr<InputList> ListInputs(env::Storage& storage, const v1::JobSpec& spec,
                                     SubmissionKind kind, PathLookedAt& path) {
  if (kind == SubmissionKind::kRun) {
    path.Set(spec.output());
    absl::Status restored = RestoreOldOutput(storage, spec.output());
    if (!restored.ok()) return restored;
    if (absl::Status output = CheckOutput(storage, spec); !output.ok()) return output;
  }
  std::vector<env::FileInfo> directories;
  absl::StatusOr<InputList> input = ExpandInputs(
      storage, {spec.inputs().begin(), spec.inputs().end()},
      [&path](const std::string& begins) { path.Set(begins); }, &directories);
  if (!input.ok() || kind == SubmissionKind::kDryRun) return input;
  path.Set(spec.output());
  const OutputPlaces places(spec.output(), "");
  if (absl::Status outside = CheckInputsOutside(storage, *input, places.output); !outside.ok()) {
    return outside;
  }
  absl::Status outside = CheckOutputOutside(storage, directories, places.output);
  if (outside.ok()) {
    outside =
        CheckOutputUnmatched(storage, {spec.inputs().begin(), spec.inputs().end()}, places.output);
  }
  if (!outside.ok()) return outside;
  return input;
}

namespace {

void ListInTime(const MasterSeams& seams, InputLister& lister, const env::CallbackScope& callbacks,
                std::shared_ptr<const v1::JobSpec> spec, SubmissionKind kind,
                absl::AnyInvocable<void(absl::StatusOr<InputList>)> done) {
  if (absl::Status room = lister.Room(); !room.ok()) return done(room);
  lister.List(
      // Who submits asks again, under the same key, once the call ends (60 s).
      {limits::kListingWait, kind == SubmissionKind::kRun ? kListingMax : limits::kListingWait},
      [&storage = seams.storage, spec = std::move(spec),
       kind](PathLookedAt& path) -> absl::StatusOr<InputList> {
        absl::StatusOr<InputList> input = ListInputs(storage, *spec, kind, path);
        if (!input.ok() || !spec->has_plan()) return input;
        absl::Status fits = CheckGivenPlanInput(spec->plan(), input->total_bytes);
        if (!fits.ok()) return Invalid(std::string(fits.message()));
        return input;
      },
      callbacks.Guard([done = std::move(done)](absl::StatusOr<InputList> input) mutable {
        done(std::move(input));
      }));
}

}  // namespace

void CheckSubmission(const MasterSeams& seams, InputLister& lister,
                     const env::CallbackScope& callbacks, std::shared_ptr<const v1::JobSpec> spec,
                     SubmissionKind kind,
                     absl::AnyInvocable<void(absl::StatusOr<InputList>)> done) {
  absl::Status known = CheckAgainstCatalog(seams.catalog, *spec);
  if (!known.ok()) return done(known);
  if (!spec->has_plan()) {
    return ListInTime(seams, lister, callbacks, std::move(spec), kind, std::move(done));
  }
  env::Offload(
      seams.loop, seams.compute_pool,
      [spec, job = FindJob(seams.catalog, *spec)] { return CheckGivenPlan(*spec, *job); },
      callbacks.Guard([&seams, &lister, &callbacks, spec, kind,
                       done = std::move(done)](const absl::Status& plan) mutable {
        if (!plan.ok()) return done(Invalid(std::string(plan.message())));
        ListInTime(seams, lister, callbacks, std::move(spec), kind, std::move(done));
      }));
}

}  // namespace weir::master
