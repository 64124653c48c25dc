#include "runtime/master/planning/planning.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/log.h"
#include "runtime/master/learning/data_seen.h"
#include "runtime/master/planning/cluster_profile.h"
#include "runtime/master/planning/loop_request.h"
#include "runtime/master/planning/memory_cut.h"
#include "runtime/master/planning/plan_request.h"
#include "runtime/master/planning/sampling_rule.h"
#include "runtime/modules/job_description.h"

namespace weir::master {
Planning::Planning(const MasterSeams& seams, const MasterOptions& options,
                   const ShapeHistory& history, Epoch master_epoch, std::string job_id,
                   v1::JobSpec spec)
    : seams_(seams),
      options_(options),
      history_(history),
      master_epoch_(master_epoch),
      job_id_(std::move(job_id)),
      spec_(std::move(spec)) {}

SampleScale Planning::ScaleOf(const InputList& input,
                              const std::vector<RegisteredWorker>& workers) const {
  SampleScale scale;
  double slots = 0;
  for (const RegisteredWorker& worker : workers) {
    scale.compute_rates.push_back(ComputeRate(worker));
    scale.slots.push_back(std::max(1, worker.profile.slots()));
    slots += scale.slots.back();
  }
  if (spec_.num_mappers() > 0) {
    slots *= static_cast<double>(spec_.num_mappers()) / static_cast<double>(workers.size());
  }
  const double together = options_.shared_cores > 0 ? slots / options_.shared_cores : 1;
  for (const RegisteredWorker& worker : workers) {
    scale.slots_a_core.push_back(std::max({1.0, together, SlotsACore(worker.profile)}));
  }
  scale.files_per_slot = FilesPerSlot(static_cast<double>(input.files.size()), slots);
  scale.same_host = SameHost(workers);
  scale.num_mappers = spec_.num_mappers();
  scale.map_overhead_s = options_.map_overhead_s;
  scale.reduce_overhead_s = options_.reduce_startup_s;
  return scale;
}

std::optional<SampleDesign> Planning::DesignOf(const JobDefinition& job, bool combines,
                                               const InputList& input,
                                               const std::vector<RegisteredWorker>& workers) const {
  if (spec_.sampling() == "off") return std::nullopt;
  // What a loop takes is in its iterations, which a sample does not run.
  const auto loop = LoopOf(spec_, job, options_);
  if (!loop.ok() || loop->has_value()) return std::nullopt;
  const SamplePolicy policy = PolicyFor(
      options_.sampling, job.info().rates,
      {input.total_bytes, /*across_hosts=*/!workers.empty() && !SameHost(workers), combines});
  int slots = 1;
  for (const RegisteredWorker& worker : workers) slots = std::max(slots, worker.profile.slots());
  return DesignSample(input, workers.size(), slots, policy);
}

void Planning::LookInstead(const JobRates& rates, const InputList& input) {
  const double job_seconds_per_byte =
      rates.map_seconds_per_byte +
      rates.map_output_ratio * rates.output_growth.seconds_per_output_byte;
  if (!known_ ||
      CountsUnsampled(*known_, input.look ? &*input.look : nullptr, job_seconds_per_byte)) {
    return;
  }
  known_.reset();
  note_ =
      "Earlier runs of this job were of data that looks unlike this, so the job's defaults count, "
      "not the history.";
}

void Planning::Sample(const InputList& input, const std::vector<RegisteredWorker>& workers,
                      const std::string& busy, absl::AnyInvocable<void()> sampled) {
  const InputSeen seen{input.total_bytes, InputRanges(input).Fingerprint(),
                       input.look ? &*input.look : nullptr};
  const auto similar = history_.FindAll(spec_, seen, static_cast<std::int32_t>(workers.size()));
  if (!similar.empty()) {
    known_ = *similar.front();
    if (known_->input_fingerprint() == seen.fingerprint) return sampled();
    known_->clear_input_weights();  // where other data is dear says nothing of this
  }
  const auto job = FindJob(seams_.catalog, spec_);
  if (job == nullptr) return sampled();
  const std::vector<ElementInfo> elements = ElementsOf(spec_, *job);
  const bool combines = !elements.empty() && elements.front().kind == ElementKind::kTable;
  std::optional<SampleDesign> design = DesignOf(*job, combines, input, workers);
  if (!design || !busy.empty()) {
    LookInstead(job->info().rates, input);
    if (design && !known_) {
      note_ = absl::StrCat("Not sampled, because ", busy, " runs: both would measure each other.");
    }
    return sampled();
  }
  SampleScale scale = ScaleOf(input, workers);
  scale.num_layers = static_cast<int>(job->info().rates.layers.size());
  known_beside_.clear();
  for (const v1::JobShapeLearned* known : similar) {
    if (known->has_seen() && !scale.known) scale.known = known->seen();
    if (known != similar.front()) known_beside_.push_back(*known);
  }
  scale.combines = combines;
  scale.input_bytes = static_cast<double>(input.total_bytes);
  scale.cut_anywhere = UncutRanges(input).empty();
  v1::Fence fence;
  fence.set_job_id(SampleId(job_id_));
  fence.set_master_epoch(master_epoch_);
  fence.set_plan_epoch(1);
  sample_ = std::make_unique<SampleRun>(seams_.loop, seams_.random, std::move(fence), workers);
  sample_->Start(
      spec_, SampleMachine(*std::move(design), std::move(scale)), options_.sampling.budget,
      [this, sampled = std::move(sampled), input_bytes = static_cast<double>(input.total_bytes),
       num_workers =
           static_cast<double>(workers.size())](absl::StatusOr<v1::JobShapeLearned> shape) mutable {
        if (shape.ok()) {
          TakeSample(*std::move(shape), input_bytes / num_workers, input_bytes);
        } else {
          const std::string why = DescribeJobError(JobErrorFromStatus(shape.status()));
          note_ = absl::StrCat(
              "The sample failed, so ",
              known_ ? "what is known of other data counts: " : "the job's defaults count: ", why);
          LogWarning("A job was not sampled", {{"job", job_id_}, {"why", why}});
        }
        sampled();
      });
}

void Planning::TakeSample(v1::JobShapeLearned shape, double chunk_bytes, double input_bytes) {
  seen_ = shape.seen();
  if (known_) {
    std::vector<v1::JobShapeLearned> known = std::exchange(known_beside_, {});
    known.insert(known.begin(), *std::move(known_));
    known_ = FirstOfDataAlike(known, shape, chunk_bytes, input_bytes);
    if (known_) return;
    const bool comparable = std::any_of(
        known.begin(), known.end(), [](const v1::JobShapeLearned& one) { return one.has_seen(); });
    note_ = absl::StrCat(comparable
                             ? "Earlier runs of this job were of data unlike this"
                             : "Earlier runs of this job were not sampled, so that nothing tells "
                               "whether their data was like this",
                         ", so the sample counts, not the history.");
  }
  sampled_ = std::move(shape);
}

void Planning::Plan(const InputList& input, const std::vector<RegisteredWorker>& workers,
                    const std::string& note,
                    absl::AnyInvocable<void(absl::StatusOr<PlannedJob>)> done) {
  const auto job = FindJob(seams_.catalog, spec_);
  auto method = planner::ParsePlanMethod(spec_.plan_method());
  if (job == nullptr || !method.ok()) return done(method.status());
  method->combine = planner::ParseCombineChoice(spec_.combine()).value_or(std::nullopt);
  PlanKnowledge knowledge;
  knowledge.history = history();
  knowledge.sample = sampled_ ? &*sampled_ : nullptr;
  knowledge.workers = &history_;
  knowledge.note = note_;
  knowledge.jobs_beside = jobs_beside_;
  knowledge.memory_share = memory_share_;
  knowledge.elements = ElementsOf(spec_, *job);
  PlanRequest request =
      MakePlanRequest(spec_, job->info(), input, workers, *method, options_, knowledge);
  auto loop = LoopOf(spec_, *job, options_);
  if (!loop.ok()) return done(loop.status());
  request.shape.loop = *std::move(loop);
  CutByMemory(request);
  if (!note.empty()) request.notes.push_back(note);
  DiskQuestion question = QuestionFor(input, request);
  if (question.input.empty() && !question.output) {
    return PlanWith(std::move(request), std::move(done));
  }
  // Workers that remove what they made of the sample keep the disk busy.
  WhenReleased([this, question = std::move(question), request = std::move(request),
                done = std::move(done)]() mutable {
    const bool of_input = !question.input.empty();
    const bool of_output = question.output;
    env::Offload(
        seams_.loop, seams_.disk_pool,
        [measure = measure_disks_, question = std::move(question)] { return measure(question); },
        callbacks_.Guard([this, of_input, of_output, request = std::move(request),
                          done = std::move(done)](const DiskTimes& times) mutable {
          if (of_input) input_seconds_per_byte_ = times.input;
          if (of_output) output_seconds_per_byte_ = times.output;
          PlanWith(std::move(request), std::move(done));
        }));
  });
}

DiskQuestion Planning::QuestionFor(const InputList& input, const PlanRequest& request) const {
  DiskQuestion question;
  if (!measure_disks_) return question;
  if (!input_seconds_per_byte_) question.input = PlacesToAsk(input, seams_.random.Next());
  question.output =
      !output_seconds_per_byte_ && MayWaitForOutput(request.shape, request.cluster.workers.size());
  return question;
}

void Planning::PlanWith(PlanRequest request, PlanDone done) {
  request.shape.input_disk_seconds_per_byte = input_seconds_per_byte_.value_or(0);
  if (output_seconds_per_byte_.value_or(0) > 0) {
    planner::StoreShape& store = request.shape.store;
    store.disk_seconds_per_byte = *output_seconds_per_byte_;
    if (store.write != planner::FinalWrite::kParts) {
      store.seconds_per_byte = {*output_seconds_per_byte_, planner::Origin::kMeasured};
    }
  }
  env::Offload(
      seams_.loop, seams_.compute_pool,
      [request = std::move(request)] { return MakePlannedJob(request); },
      callbacks_.Guard([done = std::move(done)](absl::StatusOr<PlannedJob> planned) mutable {
        done(std::move(planned));
      }));
}

void Planning::Stop() {
  if (sample_) sample_->Stop();
}

void Planning::WhenReleased(absl::AnyInvocable<void()> released) {
  if (!sample_) return released();
  sample_->WhenReleased(std::move(released));
}

}  // namespace weir::master
