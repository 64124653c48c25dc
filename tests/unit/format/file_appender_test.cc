#include "runtime/format/file_appender.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/base/limits.h"
#include "tests/unit/format/scratch_file.h"

namespace weir::format {
namespace {

bool IsEmpty(const ScratchFolder& folder) { return std::filesystem::is_empty(folder.File("")); }

TEST(FileAppenderTest, FileIsRemovedUnlessClosed) {
  const ScratchFolder folder;
  {
    const auto file = FileAppender::Create(folder.File("a"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_FALSE(IsEmpty(folder));
  }
  EXPECT_TRUE(IsEmpty(folder));
}

TEST(FileAppenderTest, UnnamedFileAppearsWholeAtClose) {
  const ScratchFolder folder;
  const auto file = FileAppender::CreateUnnamed(folder.File("a"));
  if (absl::IsUnimplemented(file.status())) GTEST_SKIP() << file.status();
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string bytes(1 << 20, 'x');
  ASSERT_TRUE((*file)->Append(bytes).ok());
  ASSERT_TRUE((*file)->SyncNow().ok());
  EXPECT_TRUE(IsEmpty(folder));
  ASSERT_TRUE((*file)->Append("end").ok());
  ASSERT_TRUE((*file)->Close(FileAppender::Sync::kYes).ok());
  EXPECT_EQ(ReadAll(folder.File("a")), bytes + "end");
}

TEST(FileAppenderTest, UnnamedFileDoesNotReplaceWhatHasItsName) {
  const ScratchFolder folder;
  const auto file = FileAppender::CreateUnnamed(folder.File("a"));
  if (absl::IsUnimplemented(file.status())) GTEST_SKIP() << file.status();
  ASSERT_TRUE(file.ok()) << file.status();
  const auto other = FileAppender::Create(folder.File("a"));
  ASSERT_TRUE(other.ok() && (*other)->Close(FileAppender::Sync::kNo).ok());
  const absl::Status closed = (*file)->Close(FileAppender::Sync::kNo);
  EXPECT_TRUE(absl::IsAlreadyExists(closed)) << closed;
  EXPECT_EQ(ReadAll(folder.File("a")), "");
}

TEST(FileAppenderTest, UnnamedFileNeedsItsFolder) {
  const auto file = FileAppender::CreateUnnamed("/no/such/folder/a");
  EXPECT_TRUE(absl::IsNotFound(file.status())) << file.status();
}

TEST(FileAppenderTest, FileThatIsWrittenBackInStepsIsWhole) {
  const ScratchFolder folder;
  const auto file = FileAppender::Create(folder.File("a"), FileAppender::WriteBack::kInSteps);
  ASSERT_TRUE(file.ok()) << file.status();
  // Pieces that fall on no step, and more than three steps of them.
  std::string bytes;
  for (char c = 'a'; static_cast<std::int64_t>(bytes.size()) < 3 * limits::kWriteBackBytes; ++c) {
    if (c == 'z') c = 'a';
    const std::string piece(700'001, c);
    ASSERT_TRUE((*file)->Append(piece).ok());
    bytes += piece;
  }
  ASSERT_TRUE((*file)->Close(FileAppender::Sync::kYes).ok());
  EXPECT_TRUE(ReadAll(folder.File("a")) == bytes);
}

}  // namespace
}  // namespace weir::format
