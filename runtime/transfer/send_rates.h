#pragma once

// What sends of one worker are to be paced at, where that was changed after their grants. Pure.
// Upstream: DataServer::SetRates. Downstream: the sockets of a data server.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace weir::transfer {

/// The rate of one attempt of a transfer. Of several the one with the highest number counts.
struct SendRate {
  std::int32_t transfer = 0;
  std::int32_t attempt = 0;      // from 1
  std::int32_t number = 0;       // from 1; the rate that came with the request is 0
  std::int64_t bytes_per_s = 0;  // above 0
};

/// The newest rates of sends that have not ended, by job.
///
/// Bounds: `of_a_job_max` rates of each job that ForgetJob was not called for; of one more the
///   lowest transfer's goes, whose send then begins, or goes on, with what it has.
/// Thread-safety: the server's strand. Checked by: tests/unit/transfer/send_rates_test.cc.
class SendRates {
 public:
  /// Far more sends than a worker has in any plan.
  static constexpr std::size_t kOfAJobMax = 1 << 16;

  explicit SendRates(std::size_t of_a_job_max = kOfAJobMax) : of_a_job_max_(of_a_job_max) {}

  /// True when it is newer than what is known of this attempt: its socket is to have it.
  bool Set(const std::string& job_id, const SendRate& rate);
  /// In bytes/s; nullopt: nothing was set, or its send has ended.
  std::optional<std::int64_t> Find(const std::string& job_id, std::int32_t transfer,
                                   std::int32_t attempt) const;
  /// Its send has ended well: nobody asks for this attempt again.
  void Forget(const std::string& job_id, std::int32_t transfer, std::int32_t attempt);
  void ForgetJob(const std::string& job_id) { jobs_.erase(job_id); }

  /// Returns how many are kept, of all jobs.
  std::size_t size() const;

 private:
  struct Newest {
    std::int32_t number = 0;
    std::int64_t bytes_per_s = 0;
  };
  using OfJob = std::map<std::pair<std::int32_t, std::int32_t>, Newest>;  // transfer, attempt

  const std::size_t of_a_job_max_;
  std::map<std::string, OfJob> jobs_;
};

}  // namespace weir::transfer
