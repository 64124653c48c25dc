#include "runtime/format/file_appender.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

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

}  // namespace
}  // namespace weir::format
