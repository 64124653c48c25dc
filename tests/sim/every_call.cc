#include "tests/sim/every_call.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/artifacts/sha256.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/master/job/job_machine.h"
#include "tests/sim/checkers.h"
#include "tests/sim/outcomes.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kTimeLimit = absl::Hours(1);
// Beyond the latest of late calls, and the leases and tries that follow from it.
constexpr absl::Duration kSettle = absl::Seconds(60);
// Members wait for each other, beyond some calls that are lost.
constexpr int kJoinWaitMs = 60'000;
constexpr int kMembers = 3;
constexpr int kQuestions = 6;
constexpr std::int64_t kInputBytes = 4'000'000'000;
// So many that much moves while they run; then workers get slow, and what moves to their reducers
// is cancelled.
constexpr int kMappers = 40;
constexpr double kSlowness = 20;
constexpr absl::Duration kSlowsAfter = absl::Seconds(1);
constexpr absl::Duration kSlowFor = absl::Seconds(5);
constexpr absl::Duration kCalibrationAsked = absl::Milliseconds(400);

}  // namespace

EveryCall::EveryCall(std::uint64_t seed) {
  SeededRandom draw(seed * 2 + 1);
  master::MasterOptions options;
  options.artifact_directory = "/artifacts";
  options.latency_s = 4e-4;
  options.sampling.enabled = seed % 2 == 1;
  scenario_.world = std::make_unique<World>(seed, options, JobRates(), /*print=*/false);
  world().StartMaster();
  num_workers_ = static_cast<int>(draw.Between(2, 4));
  for (int w = 0; w < num_workers_; ++w) {
    WorkerModel model;
    model.name = absl::StrCat("worker-", w);
    model.map_output_ratio = 0.5;
    model.channel_seconds_per_byte = 1 / 5e7;
    world().StartWorker(model);
  }
  for (int member = 0; member < kMembers; ++member) {
    users_.push_back(std::make_unique<SimUser>(world(), absl::StrCat("user-", member)));
  }
  artifact_.assign(static_cast<std::size_t>(limits::kArtifactPieceBytes) + 1000, 'a');
  Sha256Stream hash;
  hash.Update(artifact_);
  artifact_hash_ = hash.Finish();
  world().storage().WriteSized("/in/every", kInputBytes).IgnoreError();
  for (int j = 0; j < 2; ++j) {
    v1::JobSpec spec;
    spec.set_job("simjob");
    spec.add_inputs("/in/every");
    spec.set_output(absl::StrCat("/out/every-", j));
    spec.set_num_reducers(3);
    spec.set_num_mappers(kMappers);
    // So that senders are told other rates while they send.
    if (j == 0) spec.set_plan_method("rates-over-time");
    spec.set_idempotency_key(absl::StrCat("every-", j));
    v1::Artifact& artifact = *spec.add_artifacts();
    artifact.set_name("words.txt");
    artifact.set_sha256(artifact_hash_);
    artifact.set_bytes(static_cast<std::int64_t>(artifact_.size()));
    world().jobs().emplace_back().spec = std::move(spec);
  }
  for (const std::string& code : CodesOfLosses()) {
    scenario_.expectations.legal_codes.push_back(code);
  }
  scenario_.expectations.legal_codes.emplace_back(job_error::kCancelled);
  world().After(absl::Seconds(2), [this] { Calibrate(); });
}

// Users go before the world that carries what they ask.
EveryCall::~EveryCall() { users_.clear(); }

void EveryCall::Calibrate() {
  ++calibrations_;
  AskCalibration(/*start=*/true);
}

void EveryCall::AskCalibration(bool start) {
  v1::CalibrateRequest request;
  request.set_calibration_id(absl::StrCat("calibration-", calibrations_));
  request.set_start(start);
  users_[0]->Ask<rpc::Calibrate>(
      request,
      [this](const v1::CalibrateResponse& answer) {
        if (!answer.done()) {
          users_[0]->loop()->RunAt(users_[0]->loop()->Now() + kCalibrationAsked,
                                   [this] { AskCalibration(/*start=*/false); });
        } else if (!std::exchange(measured_, true)) {
          Send(0);
          JoinGroup();
        }
      },
      // One that nobody could ask after for too long has ended, or the other workers were late.
      [this](const absl::Status&) { world().After(absl::Seconds(1), [this] { Calibrate(); }); });
}

void EveryCall::Send(std::int64_t offset) {
  v1::PutArtifactRequest request;
  request.set_sha256(artifact_hash_);
  request.set_bytes(static_cast<std::int64_t>(artifact_.size()));
  request.set_offset(offset);
  if (offset > 0 || answered_ > 0) {
    request.set_data(artifact_.substr(static_cast<std::size_t>(offset),
                                      static_cast<std::size_t>(limits::kArtifactPieceBytes)));
  }
  ++answered_;  // the first one asks without bytes
  users_[0]->Ask<rpc::PutArtifact>(request, [this](const v1::PutArtifactResponse& answer) {
    if (answer.bytes_held() < static_cast<std::int64_t>(artifact_.size())) {
      return Send(answer.bytes_held());
    }
    answered_ = 0;
    Plan();
  });
}

void EveryCall::JoinGroup() {
  for (int member = 0; member < kMembers; ++member) {
    v1::JoinGroupRequest request;
    request.set_group("every");
    request.set_size(kMembers);
    request.set_rank(-1);
    request.set_member_key(absl::StrCat("member-", member));
    request.set_endpoint(absl::StrCat("user-", member, ":9000"));
    request.set_wait_ms(kJoinWaitMs);
    users_[static_cast<std::size_t>(member)]->Ask<rpc::JoinGroup>(
        request, [this](const v1::JoinGroupResponse& answer) { joined_.push_back(answer); });
  }
}

void EveryCall::Plan() {
  v1::DryRunRequest request;
  *request.mutable_spec() = world().jobs()[0].spec;
  request.mutable_spec()->clear_idempotency_key();
  users_[0]->Ask<rpc::DryRun>(request, [this](const v1::GetPlanResponse& answer) {
    if (answer.plan().steps().empty()) world().Wrong("a dry run told no plan");
    PlanInPieces();
  });
}

void EveryCall::PlanInPieces() {
  v1::DryRunRequest request;
  *request.mutable_spec() = world().jobs()[0].spec;
  request.mutable_spec()->clear_idempotency_key();
  users_[0]->AskInPieces<rpc::DryRunPieces>(request, [this](const v1::GetPlanResponse& answer) {
    if (answer.plan().steps().empty()) world().Wrong("a dry run in pieces told no plan");
    Submit(0);
    Submit(1);
  });
}

void EveryCall::Submit(std::size_t job) {
  v1::SubmitRequest request;
  *request.mutable_spec() = world().jobs()[job].spec;
  users_[job]->Ask<rpc::Submit>(request, [this, job](const v1::SubmitResponse& answer) {
    world().jobs()[job].id = answer.job_id();
    if (!world().jobs()[1 - job].id.empty()) FollowJobs();
  });
}

void EveryCall::FollowJobs() {
  // One by one: at some time something is on its way to one of them.
  for (int w = 0; w < num_workers_; ++w) {
    const auto slow_down = [this, w](double slowness) {
      SimWorker* slow = world().FindWorker(absl::StrCat("worker-", w));
      if (slow != nullptr) slow->faults().cpu_slowness = slowness;
    };
    const absl::Duration when = kSlowFor * w;
    world().After(kSlowsAfter + when, [slow_down] { slow_down(kSlowness); });
    world().After(kSlowsAfter + when + kSlowFor, [slow_down] { slow_down(1); });
  }
  users_[0]->Watch(world().jobs()[0].id, [this](const v1::JobStatus& ended) {
    watched_ = ended;
    AskForAll(ended);
  });
  v1::CancelRequest request;
  request.set_job_id(world().jobs()[1].id);
  request.set_reason("changed my mind");
  users_[1]->Ask<rpc::Cancel>(
      request, [](const v1::CancelResponse&) {},
      [this](const absl::Status& status) {
        // It may have ended before, once nobody answered for long.
        if (!absl::IsFailedPrecondition(status)) world().Wrong(status.ToString());
      });
}

void EveryCall::AskForAll(const v1::JobStatus& ended) {
  v1::GetStatusRequest status;
  status.set_job_id(ended.job_id());
  users_[0]->Ask<rpc::GetStatus>(status, [this, ended](const v1::JobStatus& now) {
    ++answered_;
    if (now.state() != ended.state()) world().Wrong("a watch and a status tell different ends");
  });
  v1::GetPlanRequest plan;
  plan.set_job_id(ended.job_id());
  users_[0]->Ask<rpc::GetPlan>(plan, [this, ended](const v1::GetPlanResponse& answer) {
    ++answered_;
    const bool ran = ended.state() == v1::JOB_STATE_SUCCEEDED;
    if (ran && answer.plan().steps().empty()) world().Wrong("a job that ran has no plan");
  });
  users_[0]->AskInPieces<rpc::GetPlanPieces>(plan, [this, ended](const auto& answer) {
    ++answered_;
    const bool ran = ended.state() == v1::JOB_STATE_SUCCEEDED;
    if (ran && answer.plan().steps().empty()) world().Wrong("no piece has the plan of a job");
  });
  v1::GetLogsRequest logs;
  logs.set_job_id(ended.job_id());
  users_[0]->Ask<rpc::GetLogs>(logs, [this, ended](const v1::GetLogsResponse& answer) {
    ++answered_;
    const bool ran = ended.state() == v1::JOB_STATE_SUCCEEDED;
    // They come with the answers of releases, which are asked for again within their budget.
    if (ran && answer.logs().empty()) world().Wrong("a job that ran has no logs");
  });
  users_[0]->Ask<rpc::ListJobs>({}, [this](const v1::ListJobsResponse& answer) {
    ++answered_;
    if (answer.jobs_size() != 2) world().Wrong(absl::StrCat(answer.jobs_size(), " jobs, not 2"));
  });
  users_[0]->Ask<rpc::ListWorkers>({}, [this](const v1::ListWorkersResponse& answer) {
    ++answered_;
    std::set<std::string> names;
    for (const v1::WorkerStatus& worker : answer.workers()) names.insert(worker.identity().name());
    // One whose registration suffers may come later, none may be there twice.
    const int rows = answer.workers_size();
    if (rows == 0 || rows > num_workers_ || rows != static_cast<int>(names.size())) {
      world().Wrong(absl::StrCat(rows, " workers of ", names.size(), " names, not ", num_workers_));
    }
  });
}

std::vector<std::string> EveryCall::Run() {
  if (!world().Run(kTimeLimit, kSettle)) return {"no progress"};
  std::vector<std::string> findings = CheckRun(scenario_);
  CheckUsers(findings);
  return findings;
}

void EveryCall::CheckUsers(std::vector<std::string>& findings) {
  if (!measured_) findings.push_back("no calibration came to its end");
  if (!master::IsTerminal(watched_.state())) findings.push_back("a watch did not tell the end");
  if (answered_ != kQuestions) {
    findings.push_back(absl::StrCat(answered_, " answers to ", kQuestions, " questions"));
  }
  std::set<std::string> groups;
  std::set<std::int32_t> ranks;
  for (const v1::JoinGroupResponse& member : joined_) {
    groups.insert(member.group_id());
    ranks.insert(member.rank());
  }
  if (groups.size() != 1 || ranks.size() != kMembers || joined_.size() != kMembers) {
    findings.push_back(absl::StrCat(joined_.size(), " members of ", groups.size(), " groups with ",
                                    ranks.size(), " ranks"));
  }
  int accepted = 0;
  for (const v1::JournalRecord& record : world().journal().records()) {
    accepted += record.has_job_accepted() ? 1 : 0;
  }
  if (accepted != 2) findings.push_back(absl::StrCat(accepted, " jobs were accepted, not 2"));
}

}  // namespace weir::sim
