#pragma once

// Workers that nobody can reach, for tests whose workers are called otherwise or not at all.

#include <memory>
#include <string>

#include "runtime/rpc/api.h"

namespace weir::master {

class NoConnections final : public rpc::WorkerConnector {
 public:
  std::unique_ptr<rpc::WorkerApi> Connect(const std::string&) override { return nullptr; }
  void AskIfGone(const std::string&, absl::Duration, absl::AnyInvocable<void(bool)>) override {}
  void AskWho(const std::string&, rpc::Reply<v1::IdentifyResponse>) override {}
  std::unique_ptr<rpc::Subscription> HoldOpen(const std::string&,
                                              absl::AnyInvocable<void(bool)>) override {
    return nullptr;
  }
};

}  // namespace weir::master
