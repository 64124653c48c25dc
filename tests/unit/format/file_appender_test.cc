#include "runtime/format/file_appender.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

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

// Below and above what goes to the kernel from where it lies, and what is gathered.
TEST(FileAppenderTest, PiecesOfAnySizeFollowOneAnother) {
  const ScratchFolder folder;
  const auto file = FileAppender::Create(folder.File("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::string bytes;
  for (std::size_t size : {32, 262'112, 32, 300'000, 0, 5, 32'768, 32'767, 32'767, 250'000, 7}) {
    for (int i = 0; i < 3; ++i) {
      const std::string piece(size, static_cast<char>('a' + bytes.size() % 23));
      ASSERT_TRUE((*file)->Append(piece).ok());
      bytes += piece;
      EXPECT_EQ((*file)->bytes(), std::ssize(bytes));
    }
  }
  ASSERT_TRUE((*file)->Close(FileAppender::Sync::kNo).ok());
  EXPECT_TRUE(ReadAll(folder.File("a")) == bytes);
}

TEST(FileAppenderTest, NothingStaysReservedBehindTheEnd) {
  const ScratchFolder folder;
  for (const std::int64_t bytes : {std::int64_t{1} << 20, (std::int64_t{9} << 20) + 5}) {
    const std::string path = folder.File(std::to_string(bytes));
    const auto file = FileAppender::Create(path);
    ASSERT_TRUE(file.ok()) << file.status();
    const std::string piece(300'000, 'p');
    for (std::int64_t left = bytes; left > 0; left -= 300'000) {
      const auto part = static_cast<std::size_t>(std::min<std::int64_t>(left, 300'000));
      ASSERT_TRUE((*file)->Append(std::string_view(piece).substr(0, part)).ok());
    }
    ASSERT_TRUE((*file)->Close(FileAppender::Sync::kYes).ok());
    struct stat found {};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_size, bytes);
    EXPECT_LT(found.st_blocks * 512, bytes + (64 << 10));
  }
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
