#pragma once

// A simulated worker's two ends of the data plane, as its daemon knows them. Upstream:
// WorkerDaemon. Downstream: DataPlane.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/transfer/data_server.h"
#include "runtime/transfer/fetcher.h"
#include "tests/sim/data_plane.h"

namespace weir::sim {

class SimDataServer final : public transfer::DataServer {
 public:
  SimDataServer(DataPlane& plane, DataPlane::Port& port, std::string endpoint)
      : plane_(plane), port_(port), endpoint_(std::move(endpoint)) {}
  std::string endpoint() const override { return endpoint_; }
  void SetRates(const std::string& job_id, std::vector<transfer::SendRate> rates,
                std::function<void()> set) override {
    plane_.SetRates(port_, job_id, rates);
    set();
  }
  void CancelJob(const std::string& job_id) override { plane_.BreakSends(port_, job_id); }
  /// Nothing is ever lost, and there are no queues.
  void CountSegments(std::function<void(transfer::SegmentCounts)> counted) override { counted({}); }
  void Close() override { plane_.BreakSends(port_, ""); }
  transfer::DataServerCounters counters() const override { return DataPlane::SentBy(port_); }

 private:
  DataPlane& plane_;
  DataPlane::Port& port_;
  const std::string endpoint_;
};

class SimFetcher final : public transfer::Fetcher {
 public:
  SimFetcher(DataPlane& plane, DataPlane::Port& port) : plane_(plane), port_(port) {}
  void Fetch(transfer::FetchOrder order, NearlyDone nearly_done, Done done) override {
    plane_.Fetch(port_, std::move(order), std::move(nearly_done), std::move(done));
  }
  void Cancel(const std::string& job_id, std::int32_t transfer) override {
    plane_.CancelFetches(port_, job_id, transfer);
  }
  void CancelJob(const std::string& job_id) override { plane_.CancelFetches(port_, job_id); }
  void Close() override { plane_.CancelFetches(port_, ""); }
  transfer::FetcherCounters counters() const override { return DataPlane::FetchedBy(port_); }

 private:
  DataPlane& plane_;
  DataPlane::Port& port_;
};

}  // namespace weir::sim
