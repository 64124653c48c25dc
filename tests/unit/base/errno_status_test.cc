#include "runtime/base/errno_status.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace weir {
namespace {

TEST(ErrnoStatus, KeepsTheNumberAndNamesThePath) {
  const absl::Status status = ErrnoStatus(ENOENT, "open /no/such");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "open /no/such: No such file or directory");
  EXPECT_EQ(ErrnoOf(status), ENOENT);
}

TEST(ErrnoStatus, TellsFullDisksFromOtherBounds) {
  EXPECT_TRUE(IsDiskFull(ErrnoStatus(ENOSPC, "write x")));
  EXPECT_TRUE(IsDiskFull(ErrnoStatus(EDQUOT, "write x")));
  EXPECT_FALSE(IsDiskFull(ErrnoStatus(EMFILE, "open x")));
  EXPECT_FALSE(IsDiskFull(absl::ResourceExhaustedError("queue full")));
  EXPECT_EQ(ErrnoOf(absl::OkStatus()), 0);
}

}  // namespace
}  // namespace weir
