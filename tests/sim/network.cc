#include "tests/sim/network.h"

#include <algorithm>

namespace weir::sim {
namespace {

// Carrier from one process to an address.
struct Route {
  Network& network;
  const Caller caller;
  const std::string address;

  template <typename Method>
  typename rpc::Call<Method>::Taken Carry(rpc::Call<Method> call) {
    return network.Carry(caller, address, std::move(call));
  }
};

}  // namespace

// A stream and the server's end of it hold each other until one of them stops.
Network::~Network() {
  for (const StreamPtr& stream : streams_) stream->serving.clear();
}

std::unique_ptr<rpc::WorkerApi> Network::Connect(const std::string& control_endpoint) {
  return std::make_unique<rpc::WorkerApi>(
      std::make_shared<Route>(Route{*this, {master_loop_, "master"}, control_endpoint}));
}

void Network::AskWho(const std::string& control_endpoint,
                     rpc::Reply<v1::IdentifyResponse> on_answer) {
  Connect(control_endpoint)->Send<rpc::Identify>({}, std::move(on_answer));
}

void Network::AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                        absl::AnyInvocable<void(bool gone)> on_answer) {
  // The host of a process answers for it, even while the process hangs.
  auto answer = std::make_shared<absl::AnyInvocable<void(bool)>>(std::move(on_answer));
  if (Loses() || cuts_.Part("master", HostOf(control_endpoint))) {
    master_loop_->RunAt(time_.now() + timeout, [answer] { (*answer)(false); });
    return;
  }
  time_.At(time_.now() + Delay(), nullptr, [this, control_endpoint, answer, caller = master_loop_] {
    const auto it = endpoints_.find(control_endpoint);
    const bool gone = it == endpoints_.end() || !it->second.loop->alive();
    caller->RunAt(time_.now() + Delay(), [answer, gone] { (*answer)(gone); });
  });
}

// Draws nothing, so that what a seed does to calls is the same with and without them.
std::unique_ptr<rpc::Subscription> Network::HoldOpen(
    const std::string& control_endpoint, absl::AnyInvocable<void(bool was_open)> on_end) {
  auto held = std::make_shared<HeldOpen>(HeldOpen{master_loop_, std::move(on_end)});
  time_.At(time_.now() + faults_.delay_min, nullptr, [this, held, control_endpoint] {
    const auto it = endpoints_.find(control_endpoint);
    const bool opens = !cuts_.Part("master", HostOf(control_endpoint)) && it != endpoints_.end() &&
                       it->second.loop->alive();
    if (!opens) return EndHeld(held, /*was_open=*/false);
    held_.emplace(control_endpoint, held);
  });
  return std::make_unique<LeavesHeld>(held);
}

void Network::BreakHeld(const std::string& control_endpoint) {
  const auto [begin, end] = held_.equal_range(control_endpoint);
  for (auto held = begin; held != end; ++held) EndHeld(held->second, /*was_open=*/true);
  held_.erase(begin, end);
}

void Network::EndHeld(const std::shared_ptr<HeldOpen>& held, bool was_open) {
  held->caller->RunAt(time_.now() + faults_.delay_min, [held, was_open] {
    if (held->on_end) std::exchange(held->on_end, nullptr)(was_open);
  });
}

std::unique_ptr<rpc::ClusterApi> Network::ConnectMaster(Caller caller) {
  return std::make_unique<rpc::ClusterApi>(
      std::make_shared<Route>(Route{*this, std::move(caller), "master"}));
}

std::unique_ptr<rpc::JobApi> Network::ConnectUser(Caller caller) {
  return std::make_unique<rpc::JobApi>(
      std::make_shared<Route>(Route{*this, std::move(caller), "master"}));
}

void Network::Detach(const std::string& address) {
  endpoints_.erase(address);
  std::list<StreamPtr> broken;
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    const auto at = stream++;
    if ((*at)->address == address) broken.splice(broken.end(), streams_, at);
  }
  for (const StreamPtr& stream : broken) {
    stream->serving.clear();
    EndStream(stream, Delay(), absl::UnavailableError("the server is gone (simulated)"));
  }
}

void Network::BreakStream(const StreamPtr& stream, absl::Duration noticed) {
  EndStream(stream, noticed, absl::UnavailableError("the connection broke (simulated)"));
  // The server hears of it later.
  time_.At(time_.now() + kBrokenNoticed + kBrokenNoticed, nullptr,
           [this, stream] { StopServing(stream); });
}

void Network::EndStream(const StreamPtr& stream, absl::Duration delay, absl::Status status) {
  stream->last_arrival = std::max(stream->last_arrival, time_.now() + delay);
  stream->caller.loop->RunAt(stream->last_arrival, [stream, status = std::move(status)]() mutable {
    if (std::exchange(stream->over, true)) return;
    auto on_end = std::move(stream->on_end);
    on_end(std::move(status));
  });
}

void Network::LeaveStream(const StreamPtr& stream) {
  stream->over = true;
  time_.At(time_.now() + Delay(), nullptr, [this, stream] { StopServing(stream); });
}

void Network::StopServing(const StreamPtr& stream) {
  streams_.remove(stream);
  stream->serving.clear();
}

}  // namespace weir::sim
