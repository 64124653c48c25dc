#pragma once

// What tests of commands stand on that ask a master: one that answers as told.

#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/client/commands/commands.h"
#include "runtime/env/real/asio_event_loop.h"
#include "tests/unit/client/command_host_test_base.h"
#include "tests/unit/client/scripted_master.h"

namespace weir::client {

/// Commands reach `master_`, wherever they look for one.
class ScriptedMasterTest : public CommandHostTest {
 protected:
  ScriptedMasterTest() {
    host_.connect = [this](const MasterAddress&) -> absl::StatusOr<std::unique_ptr<Session>> {
      return std::make_unique<ScriptedSession>(loop_, master_);
    };
    host_.start_embedded = [this](const EmbeddedOptions&,
                                  const JobOptions&) -> absl::StatusOr<std::unique_ptr<Session>> {
      return std::make_unique<ScriptedSession>(loop_, master_);
    };
  }
  nlohmann::json Json() const { return nlohmann::json::parse(out_.str()); }

  static SubmitOptions SomeJob() {
    SubmitOptions options;
    options.job.job = "wordcount";
    options.job.inputs = {"in", "/abs/*"};
    options.job.output = "out/";
    return options;
  }

  static SubmitOptions SomeJobToWaitFor() {
    SubmitOptions options = SomeJob();
    options.wait = true;
    return options;
  }

  static v1::JobStatus InState(v1::JobState state) {
    v1::JobStatus status;
    status.set_state(state);
    return status;
  }

  env::AsioEventLoop loop_;
  ScriptedMaster master_;
};

}  // namespace weir::client
