#include "runtime/transfer/send_rates.h"

namespace weir::transfer {

bool SendRates::Set(const std::string& job_id, const SendRate& rate) {
  OfJob& of_job = jobs_[job_id];
  const auto [place, added] = of_job.try_emplace({rate.transfer, rate.attempt});
  Newest& newest = place->second;
  if (!added && rate.number <= newest.number) return false;
  newest = {rate.number, rate.bytes_per_s};
  if (of_job.size() > of_a_job_max_) of_job.erase(of_job.begin());
  return true;
}

std::optional<std::int64_t> SendRates::Find(const std::string& job_id, std::int32_t transfer,
                                            std::int32_t attempt) const {
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return std::nullopt;
  const auto rate = job->second.find({transfer, attempt});
  if (rate == job->second.end()) return std::nullopt;
  return rate->second.bytes_per_s;
}

void SendRates::Forget(const std::string& job_id, std::int32_t transfer, std::int32_t attempt) {
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return;
  job->second.erase({transfer, attempt});
  if (job->second.empty()) jobs_.erase(job);
}

std::size_t SendRates::size() const {
  std::size_t kept = 0;
  for (const auto& [job_id, of_job] : jobs_) kept += of_job.size();
  return kept;
}

}  // namespace weir::transfer
