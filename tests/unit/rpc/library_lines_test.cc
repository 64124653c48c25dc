#include "runtime/rpc/grpc/library_lines.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/base/moment.h"

namespace weir::rpc {
namespace {

TEST(LibraryLines, SayEachTextOnceAMinuteAndHowManyWereLeftOut) {
  LibraryLines lines;
  EXPECT_EQ(lines.Admit("no certificate", Moment(1)), 0);
  EXPECT_EQ(lines.Admit("no certificate", Moment(1)), std::nullopt);
  EXPECT_EQ(lines.Admit("no certificate", Moment(60)), std::nullopt);
  EXPECT_EQ(lines.Admit("http request", Moment(60)), 2) << "another text is news";
  EXPECT_EQ(lines.Admit("no certificate", Moment(61)), 0) << "a minute later it is said again";
  EXPECT_EQ(lines.Admit("http request", Moment(61)), 0);
}

TEST(LibraryLines, AreFewWhateverStandsInThem) {
  LibraryLines lines;
  std::size_t said = 0;
  for (int i = 0; i < 1000; ++i) {
    said += lines.Admit("no match for name " + std::to_string(i), Moment(1)) ? 1 : 0;
  }
  EXPECT_EQ(said, LibraryLines::kTextsMax);
  EXPECT_EQ(lines.Admit("no match for name 1", Moment(61)),
            static_cast<std::int64_t>(1000 - LibraryLines::kTextsMax));
}

}  // namespace
}  // namespace weir::rpc
