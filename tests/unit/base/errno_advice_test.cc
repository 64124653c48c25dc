#include "runtime/base/errno_advice.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace weir {
namespace {

TEST(ErrnoAdvice, FollowsTheReason) {
  EXPECT_NE(AdviceForErrno(EACCES).find("permissions"), std::string_view::npos);
  EXPECT_NE(AdviceForErrno(EIO).find("disk or file server"), std::string_view::npos);
  EXPECT_NE(AdviceForErrno(ESTALE).find("file server"), std::string_view::npos);
  EXPECT_NE(AdviceForErrno(EFBIG).find("ulimit -f"), std::string_view::npos);
  EXPECT_NE(AdviceForErrno(ELOOP).find("circle"), std::string_view::npos);
}

}  // namespace
}  // namespace weir
