// weir plan, weir explain: plans in words and pictures.

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/client/absence/master_absence.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/check_places.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/plan_answer.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/plan_file.h"
#include "runtime/client/plan_pictures.h"
#include "runtime/client/ship/module_job.h"
#include "runtime/client/ship/shipped_files.h"

namespace weir::client {
namespace {

int ShowPlan(const absl::StatusOr<v1::GetPlanResponse>& response, const std::string& title,
             bool ended, const PictureOptions& pictures, bool json, CommandHost& host) {
  if (!response.ok()) return ReportCallError(response.status(), json, host);
  const auto explained = ExplainedPlan::From(*response, title, ended);
  if (!explained.ok()) return ReportCallError(explained.status(), json, host);
  if (absl::Status written = explained->WritePictures(pictures, host); !written.ok()) {
    return ReportCallError(written, json, host);
  }
  const std::string text = json ? explained->Json() : explained->Text();
  host.out << text << (text.ends_with('\n') ? "" : "\n");
  return kExitOk;
}

// A picture of a job that was submitted may not take the place of what that job reads or wrote.
absl::Status CheckPicturesOf(const ExplainOptions& options, const v1::JobStatus& status,
                             CommandHost& host) {
  JobOptions job;
  job.inputs.assign(status.spec().inputs().begin(), status.spec().inputs().end());
  job.output = status.spec().output();
  return CheckPictures(options.pictures, job, host);
}

}  // namespace

int Plan(const PlanOptions& options, CommandHost& host) {
  absl::Status sound = CheckPlaces(options.job);
  sound.Update(ReducersOf(options.job).status());
  sound.Update(CheckPictures(options.pictures, options.job, host));
  sound.Update(CheckShippedFiles(options.job, host));
  if (!sound.ok()) return ReportCallError(sound, options.json, host);
  const auto module = AskModuleJob(options.job, host);
  if (!module.ok()) return ReportCallError(module.status(), options.json, host);
  auto session = options.master.address.empty() ? host.start_embedded(options.embedded, options.job)
                                                : host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  v1::DryRunRequest request;
  *request.mutable_spec() = MakeJobSpec(options.job, host);
  absl::Status given = AddPlanFile(options.job, host, *request.mutable_spec());
  if (!given.ok()) return ReportCallError(given, options.json, host);
  // Who asks for a plan is there to ask again.
  MasterAbsence absence({absl::ZeroDuration(), /*given=*/true}, /*reached=*/false,
                        absl::ZeroDuration(), host.random);
  v1::JobSpec& spec = *request.mutable_spec();
  absl::Status sent = AddModule(*module, **session, absence, host, spec);
  if (sent.ok()) sent = AddShippedFiles(options.job, **session, absence, host, spec);
  if (!sent.ok()) return ReportCallError(sent, options.json, host);
  const auto plan = AskForDryRun(**session, request);
  const int code =
      ShowPlan(plan, options.job.job, /*ended=*/false, options.pictures, options.json, host);
  return absl::IsCancelled(plan.status()) ? kExitInterrupted : code;
}

int Explain(const ExplainOptions& options, CommandHost& host) {
  const absl::Status writable = CheckPictures(options.pictures, /*job=*/{}, host);
  if (!writable.ok()) return ReportCallError(writable, options.json, host);
  auto session = host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  v1::GetStatusRequest asked;
  asked.set_job_id(options.job_id);
  const auto status = Ask<rpc::GetStatus>(**session, std::move(asked));
  if (!status.ok()) return ReportCallError(status.status(), options.json, host);
  if (const absl::Status apart = CheckPicturesOf(options, *status, host); !apart.ok()) {
    return ReportCallError(apart, options.json, host);
  }
  // Known since the last step was done; also where the output could not be published then.
  const bool ended = status->state() == v1::JOB_STATE_SUCCEEDED || status->actual_makespan_s() > 0;
  v1::GetPlanRequest request;
  request.set_job_id(options.job_id);
  return ShowPlan(AskForPlan(**session, request), options.job_id, ended, options.pictures,
                  options.json, host);
}

}  // namespace weir::client
