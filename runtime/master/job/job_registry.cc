#include "runtime/master/job/job_registry.h"

#include <algorithm>
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
  order_.push_back(id);
  jobs_[id] = std::move(status);
  std::vector<std::string> forgotten;
  auto surplus = static_cast<std::int64_t>(order_.size()) - jobs_max_;
  std::erase_if(order_, [&](const std::string& old) {
    const v1::JobStatus& job = jobs_[old];
    if (!IsTerminal(job.state())) return false;
    const bool aged = absl::Milliseconds(now_unix_ms - job.ended_unix_ms()) > age_max_;
    if (surplus <= 0 && !aged) return false;
    --surplus;
    id_by_key_.erase(jobs_[old].spec().idempotency_key());
    jobs_.erase(old);
    forgotten.push_back(old);
    return true;
  });
  return forgotten;
}

std::int64_t JobRegistry::Update(v1::JobStatus status) {
  const auto it = jobs_.find(status.job_id());
  if (it == jobs_.end()) return 0;
  status.set_sequence(it->second.sequence() + 1);
  it->second = std::move(status);
  watch_hub_.Publish(it->second);
  return it->second.sequence();
}

absl::StatusOr<const v1::JobStatus*> JobRegistry::Find(const std::string& job_id) const {
  const auto it = jobs_.find(job_id);
  if (it != jobs_.end()) return &it->second;
  return absl::NotFoundError(
      absl::StrCat("no job '", job_id.substr(0, 100),
                   "'; the master lists the jobs that it remembers (the last ", jobs_max_, ", for ",
                   absl::FormatDuration(age_max_), ") with: weir list"));
}

const v1::JobStatus* JobRegistry::FindByKey(const std::string& idempotency_key) const {
  if (idempotency_key.empty()) return nullptr;
  const auto it = id_by_key_.find(idempotency_key);
  return it == id_by_key_.end() ? nullptr : &jobs_.at(it->second);
}

v1::ListJobsResponse JobRegistry::List(std::int32_t max_jobs) const {
  const auto wanted = static_cast<std::size_t>(max_jobs > 0 ? max_jobs : kListedByDefault);
  v1::ListJobsResponse response;
  for (auto it = order_.rbegin();
       it != order_.rend() && static_cast<std::size_t>(response.jobs_size()) < wanted; ++it) {
    v1::JobStatus& listed = *response.add_jobs();
    listed = jobs_.at(*it);
    // Hundreds of plans in words would not fit one message; status has them.
    listed.clear_plan_text();
  }
  return response;
}

}  // namespace weir::master
