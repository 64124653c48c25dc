#include "runtime/base/whole_write.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(WholeWrite, GoesOnWhereAPartWasWritten) {
  std::string written;
  EXPECT_EQ(WriteWhole("0123456789",
                       [&](std::string_view left, std::int64_t done) -> std::int64_t {
                         EXPECT_EQ(static_cast<std::size_t>(done), written.size());
                         const std::size_t part = std::min<std::size_t>(left.size(), 3);
                         written.append(left.substr(0, part));
                         return static_cast<std::int64_t>(part);
                       }),
            0);
  EXPECT_EQ(written, "0123456789");
  EXPECT_EQ(WriteWhole("", [](std::string_view, std::int64_t) -> std::int64_t { return -1; }), 0);
}

TEST(WholeWrite, AsksAgainAfterASignalAndNotAfterAnError) {
  int calls = 0;
  EXPECT_EQ(WriteWhole("12",
                       [&](std::string_view, std::int64_t) -> std::int64_t {
                         errno = ++calls == 2 ? EINTR : ENOSPC;
                         return calls == 1 ? 1 : -1;
                       }),
            ENOSPC);
  EXPECT_EQ(calls, 3);
}

TEST(WholeWrite, EndsWhereNothingIsWritten) {
  int calls = 0;
  errno = ENOENT;  // of an earlier call
  EXPECT_EQ(WriteWhole("12",
                       [&](std::string_view, std::int64_t) -> std::int64_t {
                         if (++calls < 10) return calls == 1 ? 1 : 0;
                         errno = ECANCELED;
                         return -1;
                       }),
            EIO);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace weir
