#include "runtime/env/real/machine_id.h"

#include <fstream>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

namespace weir::env {
namespace {

TEST(MachineIdTest, IsTheFirstHalfOfTheKernelsOwn) {
  std::string boot_id;
  ASSERT_TRUE(std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id));
  EXPECT_EQ(absl::StrFormat("%016x", MachineId()),
            absl::StrReplaceAll(boot_id, {{"-", ""}}).substr(0, 16));
}

}  // namespace
}  // namespace weir::env
