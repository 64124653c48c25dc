#pragma once

// What commands stand on, in tests: a folder of their own, files and entropy of the machine, output
// in memory.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "jobs/api/job_definition.h"
#include "runtime/client/command_host.h"
#include "runtime/env/real/kernel_sources.h"
#include "runtime/env/real/posix_storage.h"

namespace weir::client {

/// No master and no embedded cluster: a test that needs one sets `connect` and `start_embedded`.
class CommandHostTest : public testing::Test {
 protected:
  CommandHostTest() {
    char name[] = "/tmp/weir-client-XXXXXX";
    dir_ = mkdtemp(name);
    host_.working_directory = dir_;
  }
  ~CommandHostTest() override { std::filesystem::remove_all(dir_); }

  void Put(const std::string& name, const std::string& content) {
    ASSERT_TRUE(storage_.WriteFileAtomically(dir_ + "/" + name, content).ok());
  }

  std::string dir_;
  JobCatalog catalog_;
  env::PosixStorage storage_;
  env::KernelRandom random_;
  std::ostringstream out_, err_;
  CommandHost host_ = {.out = out_,
                       .err = err_,
                       .terminal = {},
                       .out_is_terminal = false,
                       .working_directory = "",
                       .user = "alice@node7",
                       .catalog = catalog_,
                       .storage = storage_,
                       .random = random_,
                       .now_micros = [] { return 0.0; },
                       .ask_module = nullptr,
                       .connect = nullptr,
                       .start_embedded = nullptr};
};

}  // namespace weir::client
