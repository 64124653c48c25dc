// The checks of requests that the rows of methods.h name: what comes from outside is checked once,
// at the edge; behind it, values are trusted. Pure.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/worker_name.h"
#include "runtime/rpc/methods.h"

namespace weir::rpc {
namespace {

// Longer than any path of a file system that we know (PATH_MAX is 4096) and any sensible name.
constexpr std::size_t kPathBytesMax = 4096;
constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kFileNameBytesMax = 255;  // NAME_MAX
constexpr std::size_t kParameterBytesMax = 64 << 10;
constexpr int kParametersMax = 1000;
constexpr int kInputsMax = 100'000;
constexpr int kLayersMax = 1000;
constexpr std::int64_t kPriorityMax = 100;
constexpr std::int64_t kDeadlineMsMax = std::int64_t{10} * 365 * 24 * 3600 * 1000;
// Far above what the planner takes; their products stay below 2^63.
constexpr std::int64_t kElementPlacesMax = std::int64_t{1} << 40;
constexpr std::int64_t kPlaceBytesMax = 1 << 20;
constexpr std::int64_t kIterationsMax = 1'000'000;
constexpr int kProgressMax = 10'000;
constexpr int kCountersMax = 10'000;
constexpr int kSkippedMax = 100;
constexpr int kTrialsMax = 16;
constexpr int kRatesMax = 100'000;
// Of one step or transfer: beyond any disk, and thousands of them add up within 64 bits.
constexpr std::int64_t kReportedMax = std::int64_t{1} << 50;
constexpr double kReportedSecondsMax = 1e9;  // 30 years
constexpr std::size_t kCalibrationIdBytesMax = 100;
constexpr std::size_t kOrderedJobIdBytesMax = 64;

absl::Status Wrong(absl::string_view field, absl::string_view value, absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is '", value.substr(0, 200), "', must be ", legal));
}

absl::Status CheckRange(absl::string_view field, std::int64_t value, std::int64_t min,
                        std::int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return Wrong(field, absl::StrCat(value), absl::StrCat("between ", min, " and ", max));
}

absl::Status CheckText(absl::string_view field, absl::string_view text, std::size_t bytes_max) {
  if (text.empty()) return Wrong(field, text, "given");
  if (text.size() > bytes_max)
    return Wrong(field, text, absl::StrCat("at most ", bytes_max, " bytes"));
  if (text.find('\0') != absl::string_view::npos) return Wrong(field, text, "free of NUL bytes");
  return absl::OkStatus();
}

/// What stands in lists and logs, which a line break would forge.
absl::Status CheckOneLine(absl::string_view field, absl::string_view text) {
  if (absl::Status status = CheckText(field, text, kNameBytesMax); !status.ok()) return status;
  const bool one =
      std::none_of(text.begin(), text.end(), [](char c) { return absl::ascii_iscntrl(c); });
  return one ? absl::OkStatus() : Wrong(field, absl::CHexEscape(text), "one line of text");
}

absl::Status CheckPath(absl::string_view field, absl::string_view path) {
  if (absl::Status status = CheckText(field, path, kPathBytesMax); !status.ok()) return status;
  return path.front() == '/' ? absl::OkStatus() : Wrong(field, path, "an absolute path");
}

/// First of these that is not OK.
template <typename... Statuses>
absl::Status FirstError(Statuses... statuses) {
  absl::Status first;
  ((first.ok() && !statuses.ok() ? static_cast<void>(first = statuses) : static_cast<void>(0)),
   ...);
  return first;
}

absl::Status CheckFence(const v1::Fence& fence) {
  return FirstError(CheckText("fence.job_id", fence.job_id(), kNameBytesMax),
                    CheckRange("fence.attempt", fence.attempt(), 0, INT32_MAX));
}

absl::Status CheckSeconds(absl::string_view field, double seconds) {
  // Written so that NaN fails as well.
  if (seconds >= 0 && seconds <= kReportedSecondsMax) return absl::OkStatus();
  return Wrong(field, absl::StrCat(seconds), absl::StrCat("between 0 and ", kReportedSecondsMax));
}

/// One without a code would end a job and nobody could say why.
absl::Status CheckError(const v1::JobError& error) {
  return CheckText("error.code", error.code(), kNameBytesMax);
}

absl::Status CheckRun(const v1::RunInfo& run) {
  if (absl::Status status = CheckRange("run.bytes", run.bytes(), 0, kReportedMax); !status.ok()) {
    return status;
  }
  absl::Status tried = CheckRange("number of trials", run.trials_size(), 0, kTrialsMax);
  for (const v1::CodecTrial& trial : run.trials()) {
    tried.Update(CheckRange("trial.codec", trial.codec(), v1::CODEC_LZ4, v1::CODEC_ZSTD));
    tried.Update(CheckRange("trial.raw_bytes", trial.raw_bytes(), 1, INT64_MAX));
    tried.Update(CheckRange("trial.packed_bytes", trial.packed_bytes(), 1, trial.raw_bytes()));
  }
  if (!tried.ok()) return tried;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (const v1::RunSection& section : run.sections()) {
    absl::Status status =
        FirstError(CheckRange("section.consumer_step", section.consumer_step(), 0, INT32_MAX),
                   CheckRange("section.bytes", section.bytes(), 0, run.bytes()),
                   CheckRange("section.offset", section.offset(), 0, run.bytes()),
                   CheckRange("section.records", section.records(), 0, kReportedMax),
                   CheckRange("section.unpacked_bytes", section.unpacked_bytes(), 0, kReportedMax));
    if (!status.ok()) return status;
    if (section.unpacked_bytes() != 0 && section.unpacked_bytes() < section.bytes()) {
      return Wrong("section.unpacked_bytes", absl::StrCat(section.unpacked_bytes()),
                   "0 or at least section.bytes");
    }
    if (section.offset() > run.bytes() - section.bytes()) {
      return Wrong("section.offset", absl::StrCat(section.offset()), "inside the run");
    }
    taken.emplace_back(section.offset(), section.offset() + section.bytes());
  }
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) {
    // What several steps read lies in the run once.
    if (taken[i].first < taken[i - 1].second && taken[i] != taken[i - 1]) {
      return Wrong("section.offset", absl::StrCat(taken[i].first), "behind the section before");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckResult(const v1::StepResult& result) {
  absl::Status status = FirstError(
      CheckRange("result.step", result.step(), 0, INT32_MAX),
      CheckRange("result.input_bytes", result.input_bytes(), 0, kReportedMax),
      CheckRange("result.input_records", result.input_records(), 0, kReportedMax),
      CheckRange("result.output_records", result.output_records(), 0, kReportedMax),
      CheckRange("result.peak_memory_bytes", result.peak_memory_bytes(), 0, INT64_MAX),
      CheckSeconds("result.run_s", result.run_s()), CheckSeconds("result.cpu_s", result.cpu_s()),
      CheckSeconds("result.waited_s", result.waited_s()),
      CheckSeconds("result.closing_s", result.closing_s()),
      CheckRange("number of counters", result.counters_size(), 0, kCountersMax),
      CheckRange("number of skipped", result.skipped_size(), 0, kSkippedMax),
      CheckRange("part.bytes", result.part().bytes(), 0, kReportedMax),
      CheckRange("part.records", result.part().records(), 0, kReportedMax),
      result.has_error() ? CheckError(result.error()) : absl::OkStatus());
  if (!status.ok() || !result.has_run()) return status;
  return CheckRun(result.run());
}

absl::Status CheckHeld(const v1::HeldJob& held) {
  absl::Status status = CheckText("held.job_id", held.job_id(), kNameBytesMax);
  for (const v1::HeldRun& run : held.runs()) {
    status.Update(CheckRange("held.attempt", run.attempt(), 1, INT32_MAX));
    status.Update(CheckResult(run.result()));
  }
  return status;
}

bool IsSha256(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::Status CheckArtifactContent(absl::string_view sha256, std::int64_t bytes) {
  if (!IsSha256(sha256)) return Wrong("sha256", sha256, "64 hex digits in lower case");
  return CheckRange("size of an artifact", bytes, 0, limits::kArtifactBytesMax);
}

/// It becomes the name of a file in the directory of a task.
absl::Status CheckArtifactName(absl::string_view name) {
  if (absl::Status line = CheckOneLine("artifact.name", name); !line.ok()) return line;
  if (name == "." || name == ".." || name.size() > kFileNameBytesMax ||
      name.find('/') != absl::string_view::npos) {
    return Wrong("artifact.name", name, "the name of a file, without a folder");
  }
  return absl::OkStatus();
}

absl::Status CheckArtifacts(const v1::JobSpec& spec) {
  absl::Status status =
      CheckRange("number of artifacts", spec.artifacts_size(), 0, limits::kArtifactsPerJobMax);
  if (!status.ok()) return status;
  std::vector<absl::string_view> names;
  for (const v1::Artifact& artifact : spec.artifacts()) {
    status = FirstError(CheckArtifactName(artifact.name()),
                        CheckArtifactContent(artifact.sha256(), artifact.bytes()));
    if (!status.ok()) return status;
    names.push_back(artifact.name());
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return absl::OkStatus();
  return Wrong("artifact.name", *twice, "the name of one artifact only");
}

/// What comes from a module is whatever its author, or somebody else, made it say.
absl::Status CheckModule(const v1::JobSpec& spec) {
  if (!spec.has_module()) return absl::OkStatus();
  const v1::JobModule& module = spec.module();
  const bool shipped =
      std::any_of(spec.artifacts().begin(), spec.artifacts().end(),
                  [&module](const v1::Artifact& one) { return one.sha256() == module.sha256(); });
  if (!shipped) return Wrong("module.sha256", module.sha256(), "that of an artifact of the job");
  const v1::JobDescription& job = module.description();
  if (job.name() != spec.job()) {
    return Wrong("module.description.name", job.name(), "the name of the job");
  }
  absl::Status status = FirstError(
      CheckRange("number of layers", job.layers_size(), 1, kLayersMax),
      CheckRange("number of described parameters", job.parameters_size(), 0, kParametersMax));
  if (!status.ok()) return status;
  std::vector<double> rates = {job.map_seconds_per_byte(), job.map_output_ratio()};
  for (const v1::JobDescription::Layer& layer : job.layers()) {
    const v1::JobDescription::Element& element = layer.element();
    rates.insert(rates.end(), {layer.reduce_seconds_per_byte(), layer.output_ratio(),
                               element.combine_seconds_per_byte()});
    status.Update(CheckRange("element.kind", element.kind(), 0, 2));
    status.Update(CheckRange("element.places", element.places(), 0, kElementPlacesMax));
    status.Update(CheckRange("element.place_bytes", element.place_bytes(), 0, kPlaceBytesMax));
  }
  if (job.has_output_growth()) {
    const v1::JobDescription::OutputGrowth& growth = job.output_growth();
    rates.push_back(growth.seconds_per_output_byte());
    // Written so that NaN fails as well.
    if (!(growth.at_bytes() > 0 && growth.at_bytes() <= 1e18)) {
      status.Update(Wrong("output_growth.at_bytes", absl::StrCat(growth.at_bytes()),
                          "above 0 and at most 1e18"));
    }
    if (!(growth.power() > 0 && growth.power() <= 1)) {
      status.Update(
          Wrong("output_growth.power", absl::StrCat(growth.power()), "above 0 and at most 1"));
    }
  }
  if (job.has_loop()) {
    const v1::JobDescription::Loop& loop = job.loop();
    rates.insert(rates.end(), {loop.iterate_seconds_per_byte(), loop.combine_seconds_per_byte(),
                               loop.update_seconds_per_byte()});
    status.Update(CheckRange("loop.iterations", loop.iterations(), 0, kIterationsMax));
    status.Update(CheckRange("loop.element_places", loop.element_places(), 1, kElementPlacesMax));
    status.Update(CheckRange("loop.state_places", loop.state_places(), 1, kElementPlacesMax));
    status.Update(CheckRange("loop.place_bytes", loop.place_bytes(), 1, kPlaceBytesMax));
  }
  for (const double rate : rates) {
    // Written so that NaN fails as well.
    if (!(rate >= 0 && rate <= 1e6)) {
      status.Update(Wrong("a rate of the job", absl::StrCat(rate), "between 0 and 1e6"));
    }
  }
  return status;
}

/// `needs_output`: false for a dry run, which writes nothing.
absl::Status CheckSpec(const v1::JobSpec& spec, bool needs_output) {
  absl::Status status = FirstError(
      CheckText("job", spec.job(), kNameBytesMax),
      needs_output ? CheckPath("output", spec.output()) : absl::OkStatus(),
      CheckRange("number of inputs", spec.inputs_size(), 1, kInputsMax),
      CheckRange("number of parameters", spec.parameters_size(), 0, kParametersMax),
      CheckRange("num_mappers", spec.num_mappers(), 0, limits::kReducersMax),
      CheckRange("num_reducers", spec.num_reducers(), 0, limits::kReducersMax),
      CheckRange("number of layer_reducers", spec.layer_reducers_size(), 0, kLayersMax),
      CheckRange("skip_bad", spec.skip_bad(), 0, INT64_MAX),
      CheckRange("priority", spec.priority(), -kPriorityMax, kPriorityMax),
      CheckRange("deadline_ms", spec.deadline_ms(), 0, kDeadlineMsMax),
      CheckRange("length of plan_method", static_cast<std::int64_t>(spec.plan_method().size()), 0,
                 kNameBytesMax),
      CheckRange("length of write_mode", static_cast<std::int64_t>(spec.write_mode().size()), 0,
                 kNameBytesMax),
      CheckRange("length of codec", static_cast<std::int64_t>(spec.codec().size()), 0,
                 kNameBytesMax),
      CheckRange("length of combine", static_cast<std::int64_t>(spec.combine().size()), 0,
                 kNameBytesMax),
      CheckRange("length of idempotency_key",
                 static_cast<std::int64_t>(spec.idempotency_key().size()), 0, kNameBytesMax),
      spec.submitter().empty() ? absl::OkStatus() : CheckOneLine("submitter", spec.submitter()),
      CheckArtifacts(spec), CheckModule(spec));
  if (!status.ok()) return status;
  if (!spec.sampling().empty() && spec.sampling() != "auto" && spec.sampling() != "off") {
    return Wrong("sampling", spec.sampling(), "'auto', 'off' or empty");
  }
  if (needs_output && spec.output().find_first_not_of('/') == std::string::npos) {
    return Wrong("output", spec.output(), "below the root directory");
  }
  for (const std::string& input : spec.inputs()) {
    if (status = CheckPath("input", input); !status.ok()) return status;
  }
  for (const std::int32_t reducers : spec.layer_reducers()) {
    status = CheckRange("layer_reducers", reducers, 0, limits::kReducersMax);
    if (!status.ok()) return status;
  }
  for (const v1::JobParameter& parameter : spec.parameters()) {
    status = FirstError(
        CheckText("parameter name", parameter.name(), kNameBytesMax),
        CheckRange("length of parameter value", static_cast<std::int64_t>(parameter.value().size()),
                   0, kParameterBytesMax));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

/// Its user reads a named error.
absl::Status CheckJob(const v1::JobSpec& spec, bool needs_output) {
  const absl::Status sound = CheckSpec(spec, needs_output);
  if (sound.ok()) return sound;
  return StatusFromJobError(
      absl::StatusCode::kInvalidArgument,
      MakeJobError(job_error::kInvalidJob, std::string(sound.message()), /*advice=*/""));
}

/// On a worker the job's id becomes part of file names.
absl::Status CheckOrder(const v1::Fence& fence) {
  const std::string& id = fence.job_id();
  const bool legal = !id.empty() && id.size() <= kOrderedJobIdBytesMax &&
                     std::all_of(id.begin(), id.end(), [](unsigned char c) {
                       return absl::ascii_isalnum(c) || c == '-' || c == '_';
                     });
  if (legal) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("job id of ", id.size(), " bytes must be 1 to ",
                                                 kOrderedJobIdBytesMax,
                                                 " letters, digits, '-' or '_'"));
}

}  // namespace

absl::Status Submit::Check(const Request& request) { return CheckJob(request.spec(), true); }
absl::Status DryRun::Check(const Request& request) { return CheckJob(request.spec(), false); }

absl::Status Calibrate::Check(const Request& request) {
  if (request.calibration_id().empty() ||
      request.calibration_id().size() > kCalibrationIdBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("calibration_id has ",
                                                   request.calibration_id().size(),
                                                   " bytes; legal: 1 to ", kCalibrationIdBytesMax));
  }
  // Written so that NaN fails as well.
  const double most = absl::ToDoubleSeconds(limits::kCalibrationMax);
  if (!(request.seconds_max() >= 0 && request.seconds_max() <= most)) {
    return absl::InvalidArgumentError(
        absl::StrCat("seconds_max is ", request.seconds_max(), "; legal: 0 to ", most));
  }
  return absl::OkStatus();
}

absl::Status PutArtifact::Check(const Request& request) {
  // Its user reads a named error: they chose the file.
  if (request.bytes() > limits::kArtifactBytesMax) {
    return StatusFromJobError(
        absl::StatusCode::kResourceExhausted,
        MakeJobError(job_error::kArtifactTooLarge,
                     absl::StrCat("an artifact of ", request.bytes(), " bytes is too large; the ",
                                  "most is ", limits::kArtifactBytesMax),
                     "ship less with the job; what is data belongs into its inputs"));
  }
  return FirstError(CheckArtifactContent(request.sha256(), request.bytes()),
                    CheckRange("offset", request.offset(), 0, request.bytes()),
                    CheckRange("length of data", static_cast<std::int64_t>(request.data().size()),
                               0, limits::kArtifactPieceBytes));
}

absl::Status FetchArtifact::Check(const Request& request) {
  return FirstError(CheckArtifactContent(request.sha256(), 0),
                    CheckRange("offset", request.offset(), 0, limits::kArtifactBytesMax));
}

absl::Status Register::Check(const Request& request) {
  const v1::WorkerIdentity& identity = request.identity();
  const v1::WorkerProfile& profile = request.profile();
  absl::Status status = FirstError(
      CheckWorkerName(identity.name()),
      CheckText("identity.control_endpoint", identity.control_endpoint(), kNameBytesMax),
      CheckText("identity.data_endpoint", identity.data_endpoint(), kNameBytesMax),
      CheckText("identity.incarnation", identity.incarnation(), kNameBytesMax),
      CheckRange("length of identity.handover_domain",
                 static_cast<std::int64_t>(identity.handover_domain().size()), 0, kPathBytesMax),
      CheckRange("profile.slots", profile.slots(), 1, 4096),
      CheckRange("profile.memory_bytes", profile.memory_bytes(), 0, INT64_MAX),
      CheckRange("profile.spill_above_bytes", profile.spill_above_bytes(), 0, INT64_MAX),
      CheckRange("profile.free_disk_bytes", profile.free_disk_bytes(), 0, INT64_MAX));
  if (!status.ok()) return status;
  // Written so that NaN fails as well.
  if (!(profile.compute_rate() >= 0 && profile.compute_rate() <= 1e6)) {
    return Wrong("profile.compute_rate", absl::StrCat(profile.compute_rate()), "between 0 and 1e6");
  }
  if (!(profile.cores() >= 0 && profile.cores() <= 1e6)) {
    return Wrong("profile.cores", absl::StrCat(profile.cores()), "between 0 and 1e6");
  }
  for (const double measured : {profile.slot_compute_rate(), profile.disk_write_bytes_per_s(),
                                profile.disk_read_bytes_per_s(), profile.task_start_s()}) {
    if (!(measured >= 0 && measured <= 1e15)) {
      return Wrong("a measured rate of the profile", absl::StrCat(measured), "between 0 and 1e15");
    }
  }
  for (const v1::HeldJob& held : request.held()) status.Update(CheckHeld(held));
  return status;
}

absl::Status JoinGroup::Check(const Request& request) {
  const std::int64_t wait_ms_max = absl::ToInt64Milliseconds(limits::kGroupWaitMax);
  absl::Status status =
      FirstError(CheckOneLine("group", request.group()),
                 CheckRange("size", request.size(), 1, limits::kGroupMembersMax),
                 CheckOneLine("member_key", request.member_key()),
                 CheckOneLine("endpoint", request.endpoint()),
                 CheckRange("wait_ms", request.wait_ms(), 1, wait_ms_max),
                 CheckRange("network.channels", request.network().channels(), 0, INT32_MAX));
  if (!status.ok()) return status;
  if (request.rank() < -1 || request.rank() >= request.size()) {
    return Wrong("rank", absl::StrCat(request.rank()),
                 absl::StrCat("between 0 and ", request.size() - 1, ", or -1 for any"));
  }
  const v1::GroupNetwork& network = request.network();
  // Written so that NaN fails as well.
  for (const double seconds :
       {request.combine_s_per_byte(), network.seconds_per_byte(), network.latency_s()}) {
    if (!(seconds >= 0 && seconds <= 1e6)) {
      return Wrong("a measured time", absl::StrCat(seconds), "between 0 and 1e6 seconds");
    }
  }
  if (!(network.pacing_fraction() >= 0 && network.pacing_fraction() <= 1)) {
    return Wrong("network.pacing_fraction", absl::StrCat(network.pacing_fraction()),
                 "between 0 and 1");
  }
  return absl::OkStatus();
}

absl::Status Heartbeat::Check(const Request& request) {
  absl::Status status =
      FirstError(CheckRange("number of progress entries", request.progress_size(), 0, kProgressMax),
                 CheckRange("number of held_jobs", request.held_jobs_size(), 0, kProgressMax),
                 CheckRange("free_disk_bytes", request.free_disk_bytes(), 0, INT64_MAX));
  if (!status.ok()) return status;
  for (const v1::StepProgress& progress : request.progress()) {
    status = FirstError(
        CheckText("progress.job_id", progress.job_id(), kNameBytesMax),
        CheckRange("progress.step", progress.step(), 0, INT32_MAX),
        CheckRange("progress.input_bytes_done", progress.input_bytes_done(), 0, kReportedMax),
        progress.status().empty() ? absl::OkStatus()
                                  : CheckOneLine("progress.status", progress.status()));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ReportStep::Check(const Request& request) {
  return FirstError(CheckFence(request.fence()), CheckResult(request.result()));
}

absl::Status ReportTransfer::Check(const Request& request) {
  const v1::TransferReport& report = request.report();
  return FirstError(CheckFence(request.fence()),
                    CheckRange("report.transfer", report.transfer(), 0, INT32_MAX),
                    CheckRange("report.bytes", report.bytes(), 0, INT64_MAX),
                    CheckRange("report.bytes_left", report.bytes_left(), 0, INT64_MAX),
                    report.has_error() ? CheckError(report.error()) : absl::OkStatus());
}

absl::Status PrepareJob::Check(const Request& request) {
  // Written so that NaN fails as well.
  if (!(request.memory_share() >= 0 && request.memory_share() <= 1)) {
    return Wrong("memory_share", absl::StrCat(request.memory_share()), "between 0 and 1");
  }
  return CheckOrder(request.fence());
}
absl::Status StartStep::Check(const Request& request) { return CheckOrder(request.fence()); }
absl::Status GrantTransfer::Check(const Request& request) { return CheckOrder(request.fence()); }
absl::Status CancelTransfer::Check(const Request& request) {
  return FirstError(CheckOrder(request.fence()),
                    CheckRange("transfer", request.transfer(), 0, INT32_MAX));
}
absl::Status SetRates::Check(const Request& request) {
  absl::Status status =
      FirstError(CheckOrder(request.fence()),
                 CheckRange("number of rates", request.rates_size(), 0, kRatesMax));
  for (const v1::TransferRate& rate : request.rates()) {
    if (!status.ok()) break;
    status = FirstError(CheckRange("rate.transfer", rate.transfer(), 0, INT32_MAX),
                        CheckRange("rate.attempt", rate.attempt(), 1, INT32_MAX),
                        CheckRange("rate.number", rate.number(), 1, INT32_MAX),
                        CheckRange("rate.bytes_per_s", rate.bytes_per_s(), 1, INT64_MAX));
  }
  return status;
}
absl::Status ReleaseJob::Check(const Request& request) { return CheckOrder(request.fence()); }
absl::Status Probe::Check(const Request& request) { return CheckOrder(request.fence()); }

}  // namespace weir::rpc
