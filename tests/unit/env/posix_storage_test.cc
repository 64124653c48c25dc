#include "runtime/env/real/posix_storage.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/env/real/free_space.h"
#include "runtime/env/real/rename_without_loss.h"
#include "tests/unit/format/failing_close.h"

namespace weir::env {
namespace {

class PosixStorageTest : public testing::Test {
 protected:
  PosixStorageTest() {
    char name[] = "/tmp/weir-storage-XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~PosixStorageTest() override { std::filesystem::remove_all(dir_); }
  std::string At(const std::string& name) const { return dir_ + "/" + name; }
  void Put(const std::string& name, const std::string& content) {
    ASSERT_TRUE(storage_.WriteFileAtomically(At(name), content).ok());
  }

  std::string dir_;
  PosixStorage storage_;
};

TEST_F(PosixStorageTest, WritesWholeFilesAndLeavesNoTemporaryOnes) {
  Put("a", "one");
  Put("a", "two");
  EXPECT_EQ(storage_.ReadFile(At("a"), 100).value(), "two");
  EXPECT_TRUE(absl::IsResourceExhausted(storage_.ReadFile(At("a"), 2).status()));
  EXPECT_TRUE(absl::IsNotFound(storage_.WriteFileAtomically(At("no/a"), "x")));
  EXPECT_EQ(storage_.List(dir_).value().size(), 1u);
}

TEST_F(PosixStorageTest, ATemporaryFileIsNobodyElses) {
  // As of a process with this number in another container.
  Put("theirs", "half of what they write");
  for (int i = 1; i <= 1000; ++i) {
    std::filesystem::create_hard_link(
        At("theirs"), At("a.tmp-" + std::to_string(getpid()) + "-" + std::to_string(i)));
  }
  Put("a", "ours");
  EXPECT_EQ(storage_.ReadFile(At("a"), 100).value(), "ours");
  EXPECT_EQ(storage_.ReadFile(At("theirs"), 100).value(), "half of what they write");
  EXPECT_EQ(std::filesystem::hard_link_count(At("theirs")), 1001u) << "all are still there";
}

TEST_F(PosixStorageTest, WhatAUserNamedStaysWhatItIs) {
  // Without O_NONBLOCK a pipe waits for its other end.
  ASSERT_EQ(mkfifo(At("pipe").c_str(), 0600), 0);
  const Fd pipe(open(At("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(storage_.WriteNamed(At("pipe"), "into it").ok());
  char bytes[100];
  EXPECT_EQ(read(pipe.get(), bytes, sizeof(bytes)), 7);
  EXPECT_TRUE(std::filesystem::is_fifo(At("pipe")));

  Put("file", "old, and longer");
  std::filesystem::create_symlink("file", At("link"));
  std::filesystem::create_symlink("link", At("chain"));
  std::filesystem::create_symlink("made", At("nowhere"));
  std::filesystem::create_symlink("/dev/null", At("device"));
  for (const char* const name : {"chain", "nowhere", "device"}) {
    EXPECT_TRUE(storage_.WriteNamed(At(name), "new").ok()) << name;
    EXPECT_TRUE(std::filesystem::is_symlink(At(name))) << name;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(At("link")));
  EXPECT_EQ(storage_.ReadFile(At("file"), 100).value(), "new");
  EXPECT_EQ(storage_.ReadFile(At("made"), 100).value(), "new");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_TRUE(storage_.WriteNamed(At("fresh"), "new").ok());
  EXPECT_EQ(storage_.ReadFile(At("fresh"), 100).value(), "new");
  EXPECT_EQ(ErrnoOf(storage_.WriteNamed(dir_, "x")), EISDIR);
  EXPECT_EQ(storage_.ListNames(dir_).value().size(), 8u) << "no temporary file stays";
}

TEST_F(PosixStorageTest, ReadsAndWritesPieces) {
  ASSERT_TRUE(storage_.WriteAt(At("a"), 3, "four").ok());
  ASSERT_TRUE(storage_.WriteAt(At("a"), 0, "one").ok());
  EXPECT_EQ(storage_.ReadFile(At("a"), 100).value(), "onefour");
  EXPECT_EQ(storage_.ReadAt(At("a"), 2, 3).value(), "efo");
  EXPECT_EQ(storage_.ReadAt(At("a"), 5, 100).value(), "ur");
  EXPECT_EQ(storage_.ReadAt(At("a"), 7, 100).value(), "");
  EXPECT_TRUE(absl::IsNotFound(storage_.ReadAt(At("b"), 0, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(storage_.WriteAt(At("no/a"), 0, "x")));
}

TEST_F(PosixStorageTest, WhatIsSealedIsReadOnlyAndExecutableIfAsked) {
  Put("a", "one");
  const auto mode = [this] {
    struct stat st;
    EXPECT_EQ(stat(At("a").c_str(), &st), 0);
    return st.st_mode & 0777;
  };
  ASSERT_TRUE(storage_.Seal(At("a"), false).ok());
  EXPECT_EQ(mode(), 0400u);
  ASSERT_TRUE(storage_.Seal(At("a"), true).ok());
  EXPECT_EQ(mode(), 0500u);
  EXPECT_TRUE(absl::IsNotFound(storage_.Seal(At("b"), true)));
}

TEST_F(PosixStorageTest, ListsSortedWithSizesAndFollowsLinks) {
  Put("b", "12345");
  ASSERT_TRUE(storage_.MakeDirectory(At("a")).ok());
  ASSERT_EQ(symlink(At("b").c_str(), At("c").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", At("d").c_str()), 0);
  const auto entries = storage_.List(dir_).value();
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].path, At("a"));
  EXPECT_TRUE(entries[0].is_directory);
  EXPECT_EQ(entries[1].bytes, 5);
  EXPECT_TRUE(entries[2].is_regular);
  EXPECT_FALSE(entries[3].is_regular || entries[3].is_directory) << "a link to nowhere";
  EXPECT_TRUE(absl::IsNotFound(storage_.List(At("none")).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(storage_.MakeDirectory(At("a"))));
}

TEST_F(PosixStorageTest, GlobFindsSortedOrNothing) {
  Put("y.log", "");
  Put("x.log", "");
  Put("z.txt", "");
  EXPECT_EQ(storage_.Glob(At("*.log")).value(),
            (std::vector<std::string>{At("x.log"), At("y.log")}));
  EXPECT_TRUE(storage_.Glob(At("*.csv")).value().empty());
  EXPECT_EQ(storage_.Glob(At("{b,a,*}.log")).value(), storage_.Glob(At("*.log")).value());
  ASSERT_TRUE(storage_.MakeDirectory(At("d")).ok());
  Put("d/x.log", "");
  EXPECT_EQ(storage_.Glob(At("{d,none}/*.log")).value(), std::vector<std::string>{At("d/x.log")});
  EXPECT_TRUE(storage_.Glob(At("{e,none}/*.log")).value().empty());
  Put("{x}.log", "");
  EXPECT_EQ(storage_.Glob(At("{x}*")).value(), std::vector<std::string>{At("{x}.log")});
  Put(".hidden", "");
  EXPECT_EQ(storage_.Glob(At(".*")).value(), std::vector<std::string>{At(".hidden")});
  EXPECT_EQ(storage_.Glob(At("[d]/..")).value(), std::vector<std::string>{At("d/..")}) << "named";
}

TEST_F(PosixStorageTest, RenameNeverReplacesAnythingButAnEmptyDirectory) {
  ASSERT_TRUE(storage_.MakeDirectory(At("from")).ok());
  Put("from/part", "1");
  ASSERT_TRUE(storage_.MakeDirectory(At("full")).ok());
  Put("full/x", "1");
  Put("file", "1");
  EXPECT_TRUE(absl::IsAlreadyExists(storage_.Rename(At("from"), At("full"))));
  EXPECT_TRUE(absl::IsAlreadyExists(storage_.Rename(At("from"), At("file"))));
  EXPECT_TRUE(absl::IsNotFound(storage_.Rename(At("none"), At("to"))));
  ASSERT_TRUE(storage_.MakeDirectory(At("empty")).ok());
  EXPECT_TRUE(storage_.Rename(At("from"), At("empty")).ok());
  EXPECT_TRUE(storage_.Stat(At("empty/part")).ok());
}

TEST_F(PosixStorageTest, RenamesAsSafelyWhereTheFileSystemKnowsNoFlags) {
  ASSERT_TRUE(storage_.MakeDirectory(At("from")).ok());
  Put("from/part", "1");
  ASSERT_TRUE(storage_.MakeDirectory(At("full")).ok());
  Put("full/x", "1");
  Put("file", "file");
  Put("other", "other");
  ASSERT_EQ(symlink("nowhere", At("link").c_str()), 0);
  for (const char* taken : {"full", "file", "link"}) {
    EXPECT_TRUE(absl::IsAlreadyExists(RenameWithoutFlags(At("from"), At(taken)))) << taken;
    EXPECT_TRUE(absl::IsAlreadyExists(RenameWithoutFlags(At("other"), At(taken)))) << taken;
  }
  EXPECT_EQ(storage_.ReadFile(At("file"), 100).value(), "file");
  EXPECT_TRUE(absl::IsNotFound(RenameWithoutFlags(At("none"), At("to"))));
  ASSERT_TRUE(storage_.MakeDirectory(At("empty")).ok());
  EXPECT_TRUE(RenameWithoutFlags(At("from"), At("empty")).ok());
  EXPECT_TRUE(storage_.Stat(At("empty/part")).ok());
  EXPECT_TRUE(RenameWithoutFlags(At("other"), At("renamed")).ok());
  EXPECT_EQ(storage_.ReadFile(At("renamed"), 100).value(), "other");
  EXPECT_TRUE(absl::IsNotFound(storage_.Stat(At("other")).status()));
}

TEST_F(PosixStorageTest, ExchangesDirectories) {
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(storage_.MakeDirectory(At(name)).ok());
    Put(std::string(name) + "/was", name);
  }
  const absl::Status exchanged = storage_.Exchange(At("a"), At("b"));
  if (absl::IsUnimplemented(exchanged)) GTEST_SKIP() << "not on the file system of " << dir_;
  ASSERT_TRUE(exchanged.ok()) << exchanged;
  EXPECT_EQ(storage_.ReadFile(At("a/was"), 100).value(), "b");
  EXPECT_EQ(storage_.ReadFile(At("b/was"), 100).value(), "a");
  EXPECT_TRUE(absl::IsNotFound(storage_.Exchange(At("a"), At("none"))));
}

TEST_F(PosixStorageTest, AnExchangeOrSyncThatAFileSystemDoesNotKnowIsToldApart) {
  // procfs has neither.
  EXPECT_TRUE(IsUnknownToFileSystem(EINVAL) && IsUnknownToFileSystem(ENOSYS) &&
              IsUnknownToFileSystem(ENOTSUP));
  EXPECT_FALSE(IsUnknownToFileSystem(EIO) || IsUnknownToFileSystem(EXDEV));
  const absl::Status synced = storage_.SyncDirectory("/proc/self");
  EXPECT_TRUE(synced.ok()) << synced;
  EXPECT_TRUE(absl::IsNotFound(storage_.SyncDirectory("/proc/self/none")));
}

TEST_F(PosixStorageTest, TellsMountPoints) {
  ASSERT_TRUE(storage_.MakeDirectory(At("a")).ok());
  EXPECT_FALSE(storage_.Stat(At("a")).value().is_mount_point);
  EXPECT_TRUE(storage_.Stat("/proc").value().is_mount_point);
  EXPECT_TRUE(storage_.Stat("/").value().is_mount_point);
  EXPECT_FALSE(storage_.Stat("/proc/self").value().is_mount_point);
}

TEST_F(PosixStorageTest, ListsNamesOfLinksToNowhereToo) {
  Put("b", "1");
  ASSERT_EQ(symlink("nowhere", At("a").c_str()), 0);
  EXPECT_EQ(storage_.ListNames(dir_).value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(absl::IsNotFound(storage_.ListNames(At("b")).status()));
}

TEST_F(PosixStorageTest, RemoveAllTakesTheTreeButNotWhatLinksPointTo) {
  Put("kept", "1");
  ASSERT_TRUE(storage_.MakeDirectory(At("tree")).ok());
  ASSERT_TRUE(storage_.MakeDirectory(At("tree/deep")).ok());
  Put("tree/deep/f", "1");
  ASSERT_TRUE(storage_.MakeDirectory(At("outside")).ok());
  Put("outside/f", "1");
  ASSERT_EQ(symlink(At("outside").c_str(), At("tree/link").c_str()), 0);
  EXPECT_TRUE(storage_.RemoveAll(At("tree")).ok());
  EXPECT_TRUE(absl::IsNotFound(storage_.Stat(At("tree")).status()));
  EXPECT_TRUE(storage_.Stat(At("outside/f")).ok());
  EXPECT_TRUE(storage_.RemoveAll(At("tree")).ok());
  EXPECT_TRUE(storage_.RemoveAll(At("kept")).ok());
}

TEST_F(PosixStorageTest, WhatIsPrivateIsForItsOwnerAlone) {
  ASSERT_TRUE(storage_.MakeDirectory(At("d")).ok());
  ASSERT_EQ(chmod(At("d").c_str(), 0777), 0);
  ASSERT_TRUE(storage_.MakePrivate(At("d")).ok());
  ASSERT_TRUE(storage_.WriteFile(At("d/spec"), "long").ok());
  ASSERT_TRUE(storage_.WriteFile(At("d/spec"), "new").ok());
  EXPECT_EQ(storage_.ReadFile(At("d/spec"), 100).value(), "new");
  struct stat info {};
  ASSERT_EQ(stat(At("d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(At("d/spec").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(absl::IsNotFound(storage_.MakePrivate(At("none"))));
  EXPECT_TRUE(absl::IsNotFound(storage_.WriteFile(At("none/spec"), "x")));
}

TEST_F(PosixStorageTest, TellsWhoGetsAtADirectory) {
  ASSERT_TRUE(storage_.MakeDirectory(At("d")).ok());
  ASSERT_TRUE(storage_.MakePrivate(At("d")).ok());
  EXPECT_EQ(storage_.PrivacyOf(At("d")).value(), Privacy::kPrivate);
  for (const mode_t bit : {0040, 0020, 0010, 0004, 0002, 0001}) {
    ASSERT_EQ(chmod(At("d").c_str(), 0700 | bit), 0);
    EXPECT_EQ(storage_.PrivacyOf(At("d")).value(), Privacy::kOpen) << std::oct << bit;
  }
  ASSERT_TRUE(storage_.MakePrivate(At("d")).ok());
  ASSERT_EQ(symlink(At("d").c_str(), At("link").c_str()), 0);
  Put("file", "");
  EXPECT_EQ(storage_.PrivacyOf(At("link")).value(), Privacy::kNoDirectory);
  EXPECT_EQ(storage_.PrivacyOf(At("file")).value(), Privacy::kNoDirectory);
  EXPECT_TRUE(absl::IsNotFound(storage_.PrivacyOf(At("none")).status()));
}

TEST_F(PosixStorageTest, WhatBelongsToAnotherUserIsForeignHoweverClosed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a directory away";
  ASSERT_TRUE(storage_.MakeDirectory(At("d")).ok());
  ASSERT_TRUE(storage_.MakePrivate(At("d")).ok());
  ASSERT_EQ(chown(At("d").c_str(), 65534, 65534), 0);
  EXPECT_EQ(storage_.PrivacyOf(At("d")).value(), Privacy::kForeign);
}

TEST_F(PosixStorageTest, NoLockIsTakenThroughALink) {
  Put("file", "");
  ASSERT_EQ(symlink(At("file").c_str(), At("lock").c_str()), 0);
  EXPECT_EQ(ErrnoOf(storage_.TakeLock(At("lock")).status()), ELOOP);
  EXPECT_EQ(ErrnoOf(storage_.MakeLock(At("lock")).status()), ELOOP);
}

TEST_F(PosixStorageTest, NobodyHoldsUpALockByALease) {
  Put("lock", "");
  const Fd holder(open(At("lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(holder.valid());
  const auto before = signal(SIGIO, SIG_IGN);  // tells the holder
  if (fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) {
    signal(SIGIO, before);
    GTEST_SKIP() << "no leases on the file system of " << dir_ << ": " << strerror(errno);
  }
  EXPECT_EQ(ErrnoOf(storage_.TakeLock(At("lock")).status()), EWOULDBLOCK);
  signal(SIGIO, before);
}

TEST_F(PosixStorageTest, SaysWhereItMayWrite) {
  ASSERT_TRUE(storage_.MakeDirectory(At("d")).ok());
  EXPECT_TRUE(storage_.MayWriteIn(At("d")));
  EXPECT_FALSE(storage_.MayWriteIn(At("none")));
  ASSERT_EQ(chmod(At("d").c_str(), 0500), 0);
  EXPECT_EQ(storage_.MayWriteIn(At("d")), geteuid() == 0) << "root may write anywhere";
}

TEST_F(PosixStorageTest, ALockIsHeldByOneAndGoesAlongWithItsFile) {
  EXPECT_TRUE(absl::IsNotFound(storage_.TakeLock(At("lock")).status()));
  ASSERT_TRUE(storage_.MakeDirectory(At("d")).ok());
  auto lock = storage_.MakeLock(At("d/lock"));
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(absl::IsUnavailable(storage_.TakeLock(At("d/lock")).status()));
  ASSERT_TRUE(storage_.Rename(At("d"), At("e")).ok());
  EXPECT_TRUE(absl::IsUnavailable(storage_.MakeLock(At("e/lock")).status()));
  lock->reset();
  EXPECT_TRUE(storage_.TakeLock(At("e/lock")).ok());
}

TEST_F(PosixStorageTest, WhatTheDiskDidNotKeepIsNotWritten) {
  const format::FailingClose full(At("a"), ENOSPC);
  EXPECT_TRUE(IsDiskFull(storage_.WriteAt(At("a"), 0, "piece")));
  EXPECT_TRUE(IsDiskFull(storage_.WriteFile(At("a"), "all")));
  EXPECT_EQ(full.count(), 2);
}

TEST_F(PosixStorageTest, FullDiskIsToldAndLeavesNothing) {
  Put("a", "old");
  // The limit on file size stands for the disk: the kernel refuses in the same place.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight = {1000, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const absl::Status status = storage_.WriteFileAtomically(At("a"), std::string(5000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(ErrnoOf(status), EFBIG) << status;
  EXPECT_EQ(storage_.ReadFile(At("a"), 100).value(), "old");
  EXPECT_EQ(storage_.List(dir_).value().size(), 1u);
  EXPECT_GT(storage_.FreeBytes(dir_).value(), 0);
}

TEST_F(PosixStorageTest, TellsWhichPlacesOfAFileAreNotInMemory) {
  constexpr std::int64_t kMiB = 1 << 20;
  Put("a", std::string(16 * kMiB, 'x'));  // and syncs it, so that it can be dropped
  const std::vector<std::int64_t> places = {kMiB / 2, 10 * kMiB, 14 * kMiB};
  EXPECT_EQ(storage_.NotInMemory(At("a"), places).value(), std::vector<std::int64_t>())
      << "it was just written";
  EXPECT_TRUE(absl::IsNotFound(storage_.NotInMemory(At("b"), places).status()));
  const Fd fd(open(At("a").c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::int64_t> missing;
  bool tells = false;
  // The question begins to read: of one place in a few hundred the disk has answered before the
  // kernel looks again, and it is in memory. Not of the same file five times on end.
  for (int tries = 0; tries < 5 && missing.size() < 2; ++tries) {
    ASSERT_EQ(posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    char byte = 0;
    const iovec into = {&byte, 1};
    // Of another page, which is read because it is asked for.
    if (preadv2(fd.get(), &into, 1, 15 * kMiB, RWF_NOWAIT) >= 0 || errno != EAGAIN) continue;
    tells = true;
    ASSERT_EQ(storage_.ReadAt(At("a"), 0, kMiB).value().size(), static_cast<std::size_t>(kMiB));
    missing = storage_.NotInMemory(At("a"), places).value();
    ASSERT_THAT(missing, testing::Not(testing::Contains(kMiB / 2))) << "it was read";
  }
  if (!tells) {
    GTEST_SKIP() << "the file system of " << dir_ << " keeps files in memory, or does not tell";
  }
  EXPECT_EQ(missing, (std::vector<std::int64_t>{10 * kMiB, 14 * kMiB}));
  EXPECT_EQ(storage_.NotInMemory(At("a"), {16 * kMiB}).value(), std::vector<std::int64_t>())
      << "behind the end there is nothing to wait for";
}

TEST_F(PosixStorageTest, AFileSystemWithoutEndHasRoom) {
  struct statvfs fs {};
  fs.f_frsize = 16 << 20;
  fs.f_bavail = std::numeric_limits<fsblkcnt_t>::max();
  EXPECT_EQ(FreeBytesOf(fs), kFreeBytesMax) << "16 MiB less than nothing";
  fs.f_bavail = fsblkcnt_t{1} << 40;  // 2^64 bytes
  EXPECT_EQ(FreeBytesOf(fs), kFreeBytesMax);
  fs.f_bavail = 3;
  EXPECT_EQ(FreeBytesOf(fs), 48 << 20);
  fs.f_frsize = 0;
  EXPECT_EQ(FreeBytesOf(fs), 0);
}

}  // namespace
}  // namespace weir::env
