#pragma once

// The world around a worker daemon, under the control of a test: a master and a data plane.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/rpc/serve.h"
#include "runtime/transfer/data_server.h"
#include "runtime/transfer/fetcher.h"

namespace weir::worker {

/// Grants every registration a new epoch and records what is reported. `down` answers kUnavailable.
struct FakeMaster {
  void Handle(rpc::Call<rpc::Register> call) {
    registrations.push_back(std::move(call.request));
    if (down) return call.reply(absl::UnavailableError("no master"));
    v1::RegisterResponse response;
    response.set_worker_id(4);
    response.set_worker_epoch(++worker_epoch);
    response.set_master_epoch(2);
    response.set_lease_ms(lease_ms);
    response.set_heartbeat_ms(heartbeat_ms);
    call.reply(std::move(response));
  }
  void Handle(rpc::Call<rpc::Heartbeat> call) {
    heartbeats.push_back(std::move(call.request));
    if (down) return call.reply(absl::UnavailableError("no master"));
    if (forgets_worker) {
      forgets_worker = false;
      return call.reply(absl::NotFoundError("who?"));
    }
    v1::HeartbeatResponse response;
    for (const std::string& job : ended_jobs) response.add_release_jobs(job);
    call.reply(std::move(response));
  }
  void Handle(rpc::Call<rpc::ReportStep> call) {
    ++step_report_tries;
    if (reports_to_lose-- > 0) return call.reply(absl::DeadlineExceededError("no answer"));
    step_reports.push_back(std::move(call.request));
    call.reply(v1::ReportStepResponse());
  }
  void Handle(rpc::Call<rpc::ReportTransfer> call) {
    transfer_reports.push_back(std::move(call.request));
    call.reply(v1::ReportTransferResponse());
  }

  void Handle(rpc::Call<rpc::FetchArtifact> call) {
    if (artifact_refusals > 0) {
      --artifact_refusals;
      return call.reply(absl::UnavailableError("no master"));
    }
    const auto found = artifacts.find(call.request.sha256());
    if (found == artifacts.end()) {
      // As the master says it.
      return call.reply(StatusFromJobError(
          absl::StatusCode::kNotFound,
          MakeJobError(job_error::kArtifactMissing, "the master does not hold it")));
    }
    if (artifact_pieces_max == static_cast<int>(artifact_offsets.size())) {
      return call.reply(absl::UnavailableError("no master any more"));
    }
    artifact_offsets.push_back(call.request.offset());
    v1::FetchArtifactResponse response;
    response.set_data(found->second.substr(static_cast<std::size_t>(call.request.offset()),
                                           limits::kArtifactPieceBytes));
    call.reply(std::move(response));
  }

  std::map<std::string, std::string> artifacts;  // bytes by hash
  std::vector<std::int64_t> artifact_offsets;    // of the pieces that were given
  int artifact_refusals = 0;
  int artifact_pieces_max = -1;  // then it is away; -1: it stays
  bool down = false;
  bool forgets_worker = false;
  int reports_to_lose = 0;
  std::int64_t lease_ms = 400;
  std::int64_t heartbeat_ms = 20;
  std::int64_t worker_epoch = 10;
  std::vector<std::string> ended_jobs;
  std::vector<v1::RegisterRequest> registrations;
  std::vector<v1::HeartbeatRequest> heartbeats;
  int step_report_tries = 0;
  std::vector<v1::ReportStepRequest> step_reports;
  std::vector<v1::ReportTransferRequest> transfer_reports;
  const rpc::ClusterApi api = rpc::ApiOf<rpc::ClusterService>(*this);
};

class FakeDataServer final : public transfer::DataServer {
 public:
  std::string endpoint() const override { return "127.0.0.1:1"; }
  /// They are "set" once the test calls what `sets` holds.
  void SetRates(const std::string& job_id, std::vector<transfer::SendRate> rates,
                std::function<void()> set) override {
    for (const transfer::SendRate& rate : rates) set_rates.emplace_back(job_id, rate);
    sets.push_back(std::move(set));
  }
  void CancelJob(const std::string& job_id) override { cancelled.push_back(job_id); }
  void CountSegments(std::function<void(transfer::SegmentCounts)> counted) override {
    counted(segments);
  }
  void Close() override {}
  transfer::DataServerCounters counters() const override { return {}; }

  std::vector<std::pair<std::string, transfer::SendRate>> set_rates;  // by job, as they came
  std::vector<std::function<void()>> sets;
  std::vector<std::string> cancelled;
  transfer::SegmentCounts segments;
};

/// Keeps fetches until the test ends them.
class FakeFetcher final : public transfer::Fetcher {
 public:
  struct Started {
    transfer::FetchOrder order;
    NearlyDone nearly_done;
    Done done;
  };
  explicit FakeFetcher(env::EventLoop& loop) : loop_(loop) {}
  void Fetch(transfer::FetchOrder order, NearlyDone nearly_done, Done done) override {
    started.push_back({std::move(order), std::move(nearly_done), std::move(done)});
  }
  void Cancel(const std::string&, std::int32_t transfer) override {
    EndThose([transfer](const Started& fetch) { return fetch.order.transfer == transfer; });
  }
  void CancelJob(const std::string&) override {
    EndThose([](const Started&) { return true; });
  }
  void Close() override {}
  transfer::FetcherCounters counters() const override { return {}; }

  std::vector<Started> started;

 private:
  template <typename Which>
  void EndThose(Which which) {
    for (Started& fetch : started) {
      if (!fetch.done || !which(fetch)) continue;
      loop_.Post([done = std::exchange(fetch.done, nullptr)]() mutable {
        done(absl::CancelledError("cancelled"));
      });
    }
  }

  env::EventLoop& loop_;
};

}  // namespace weir::worker
