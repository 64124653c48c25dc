#pragma once

// How a command's session ends.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/client/session.h"

namespace weir::app {

/// A session that is closed with its handle and then kept until the process ends, which must be by
/// _exit (docs/adr/0056). What plans for a job that is over cannot be interrupted, and gRPC waits
/// for ever for threads that it could not make: nobody should wait for either.
///
/// `Inner` has Close(): ends what others would miss (jobs, workers, files).
template <typename Inner>
class KeptSession final : public client::Session {
 public:
  explicit KeptSession(std::unique_ptr<Inner> inner) : inner_(*inner.release()) {}
  ~KeptSession() override { inner_.Close(); }
  KeptSession(const KeptSession&) = delete;
  KeptSession& operator=(const KeptSession&) = delete;

  const rpc::JobApi& jobs() override { return inner_.jobs(); }
  env::EventLoop& loop() override { return inner_.loop(); }
  void RunUntil(const std::function<bool()>& done) override { inner_.RunUntil(done); }
  void OnInterrupt(std::function<void()> on_interrupt) override {
    inner_.OnInterrupt(std::move(on_interrupt));
  }
  void EndWithStdin() override { inner_.EndWithStdin(); }
  std::string master_name() const override { return inner_.master_name(); }

 private:
  Inner& inner_;  // never destroyed
};

}  // namespace weir::app
