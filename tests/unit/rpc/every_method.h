#pragma once

// Sends one call of every row of the table, so that no method is left out of a carrier's test.

#include <memory>
#include <string>
#include <vector>

#include "runtime/env/real/asio_event_loop.h"
#include "runtime/rpc/api.h"

namespace weir::rpc {

template <typename... Methods>
std::vector<std::string> NamesOf(MethodList<Methods...>) {
  return {Methods::kName...};
}

/// Calls each method of an Api once, one after another.
template <typename Service>
class EveryMethod {
 public:
  EveryMethod(env::AsioEventLoop& loop, const Api<Service>& api) : loop_(loop), api_(api) {}

  /// What each was answered.
  std::vector<absl::Status> Answers() {
    SendAll(typename Service::Methods());
    return answers_;
  }

 private:
  template <typename... Methods>
  void SendAll(MethodList<Methods...>) {
    (SendOne<Methods>(), ...);
  }
  template <typename Method>
  void SendOne() {
    const std::size_t answered = answers_.size();
    loop_.Post([this] { Send<Method>(); });
    loop_.RunUntil([&] { return answers_.size() > answered; });
  }
  template <typename Method>
  void Send() {
    api_.template Send<Method>({}, [this](const auto& a) { answers_.push_back(a.status()); });
  }
  template <typename Method>
  requires(Method::kStreams) void Send() {
    stream_ = api_.template Subscribe<Method>(
        {}, [](const auto&) {}, [this](const absl::Status& end) { answers_.push_back(end); });
  }

  env::AsioEventLoop& loop_;
  const Api<Service>& api_;
  std::unique_ptr<Subscription> stream_;
  std::vector<absl::Status> answers_;
};

/// The answers of a RecordingServer that was reached by every method.
template <typename Service>
std::vector<absl::Status> RefusalsOfAll() {
  std::vector<absl::Status> refusals;
  for (const std::string& name : NamesOf(typename Service::Methods())) {
    refusals.push_back(absl::AbortedError(name));
  }
  return refusals;
}

}  // namespace weir::rpc
