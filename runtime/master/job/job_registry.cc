#include "runtime/master/job/job_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/master/job/job_machine.h"

namespace weir::master {
namespace {

constexpr std::int32_t kListedByDefault = 100;

}  // namespace

std::vector<std::string> JobRegistry::Add(v1::JobStatus status, std::int64_t now_unix_ms) {
  const std::string id = status.job_id();
  if (!status.spec().idempotency_key().empty()) id_by_key_[status.spec().idempotency_key()] = id;
  const Number number = ++last_number_;
  order_.emplace(number, id);
  Job& added = jobs_[id];
  added.number = number;
  Take(std::move(status), added);
  std::vector<std::string> forgotten;
  for (const Number gone : TooMany(now_unix_ms)) forgotten.push_back(Forget(gone));
  return forgotten;
}

absl::btree_set<JobRegistry::Number> JobRegistry::TooMany(std::int64_t now_unix_ms) const {
  absl::btree_set<Number> jobs;
  const auto surplus = static_cast<std::int64_t>(order_.size()) - jobs_max_;
  for (const Number ended : ended_) {
    if (static_cast<std::int64_t>(jobs.size()) >= surplus) break;
    jobs.insert(ended);
  }
  for (const auto& [ended_unix_ms, ended] : ended_at_) {
    if (absl::Milliseconds(now_unix_ms - ended_unix_ms) <= age_max_) break;
    jobs.insert(ended);
  }
  return jobs;
}

std::string JobRegistry::Forget(Number number) {
  const auto place = order_.find(number);
  std::string id = std::move(place->second);
  order_.erase(place);
  const auto job = jobs_.find(id);
  const v1::JobStatus& status = job->second.status;
  // A job whose records could not be removed comes back with the next master, and its key may be a
  // newer one's by then.
  const auto key = id_by_key_.find(status.spec().idempotency_key());
  if (key != id_by_key_.end() && key->second == id) id_by_key_.erase(key);
  ended_.erase(number);
  ended_at_.erase({status.ended_unix_ms(), number});
  jobs_.erase(job);
  return id;
}

void JobRegistry::Take(v1::JobStatus status, Job& job) {
  ended_.erase(job.number);
  ended_at_.erase({job.status.ended_unix_ms(), job.number});
  job.status = std::move(status);
  if (!IsTerminal(job.status.state())) return;
  ended_.insert(job.number);
  ended_at_.emplace(job.status.ended_unix_ms(), job.number);
}

std::int64_t JobRegistry::Update(v1::JobStatus status) {
  const auto it = jobs_.find(status.job_id());
  if (it == jobs_.end()) return 0;
  status.set_sequence(it->second.status.sequence() + 1);
  Take(std::move(status), it->second);
  watch_hub_.Publish(it->second.status);
  return it->second.status.sequence();
}

absl::StatusOr<const v1::JobStatus*> JobRegistry::Find(const std::string& job_id) const {
  const auto it = jobs_.find(job_id);
  if (it != jobs_.end()) return &it->second.status;
  return absl::NotFoundError(
      absl::StrCat("no job '", job_id.substr(0, 100),
                   "'; the master lists the jobs that it remembers (the last ", jobs_max_, ", for ",
                   absl::FormatDuration(age_max_), ") with: weir list"));
}

const v1::JobStatus* JobRegistry::FindByKey(const std::string& idempotency_key) const {
  if (idempotency_key.empty()) return nullptr;
  const auto it = id_by_key_.find(idempotency_key);
  return it == id_by_key_.end() ? nullptr : &jobs_.at(it->second).status;
}

v1::ListJobsResponse JobRegistry::List(std::int32_t max_jobs, std::size_t bytes_max) const {
  const std::int32_t wanted = max_jobs > 0 ? max_jobs : kListedByDefault;
  v1::ListJobsResponse response;
  std::size_t bytes = 0;
  bool full = false;
  for (auto it = order_.rbegin();
       it != order_.rend() && response.jobs_size() + response.left_out() < wanted; ++it) {
    const v1::JobStatus& status = jobs_.at(it->second).status;
    // Hundreds of plans in words would not fit one message; status has them.
    const std::size_t job_bytes = status.ByteSizeLong() - status.plan_text().size();
    full = full || (job_bytes <= bytes_max && bytes + job_bytes > bytes_max);
    if (full || job_bytes > bytes_max) {
      response.set_left_out(response.left_out() + 1);
      continue;
    }
    bytes += job_bytes;
    v1::JobStatus& listed = *response.add_jobs();
    listed = status;
    listed.clear_plan_text();
  }
  return response;
}

}  // namespace weir::master
