#pragma once

// Groups whose members are threads of one process, joined by the master's own state machine.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/master/groups/groups.h"
#include "runtime/reduce/rendezvous.h"

namespace weir::reduce {

/// Answers joins from many threads.
class LocalRendezvous final : public Rendezvous {
 public:
  explicit LocalRendezvous(v1::GroupNetwork network) : network_(std::move(network)) {}

  absl::StatusOr<v1::JoinGroupResponse> Join(const v1::JoinGroupRequest& request) override {
    std::unique_lock lock(mutex_);
    for (auto& answer : groups_.Join(request, network_, MonoTime(), {1, 2, 3, ++serial_})) {
      answers_.insert_or_assign(answer.member_key, std::move(answer.response));
    }
    answered_.notify_all();
    answered_.wait(lock, [&] { return answers_.contains(request.member_key()); });
    return answers_.at(request.member_key());
  }

 private:
  const v1::GroupNetwork network_;
  std::mutex mutex_;
  std::condition_variable answered_;
  master::Groups groups_;
  std::uint64_t serial_ = 3;
  std::map<std::string, absl::StatusOr<v1::JoinGroupResponse>> answers_;
};

inline v1::GroupNetwork LoopbackNetwork(int channels = 0) {
  v1::GroupNetwork network;
  network.set_seconds_per_byte(1e-9);
  network.set_latency_s(5e-5);
  network.set_channels(channels);
  return network;
}

/// Joins `size` members, each on a thread of its own, and runs `body` there.
/// Returns what each returned, by rank.
inline std::vector<absl::Status> RunMembers(int size,
                                            const std::function<absl::Status(Group& group)>& body,
                                            const v1::GroupNetwork& network = LoopbackNetwork(),
                                            GroupOptions options = {}) {
  LocalRendezvous rendezvous(network);
  std::vector<absl::Status> results(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  options.size = size;
  if (options.group.empty()) options.group = "test";
  for (int rank = 0; rank < size; ++rank) {
    GroupOptions mine = options;
    mine.rank = rank;
    threads.emplace_back([&, mine] {
      absl::Status& result = results[static_cast<std::size_t>(mine.rank)];
      auto group = JoinThrough(rendezvous, mine);
      result = group.ok() ? body(**group) : group.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace weir::reduce
