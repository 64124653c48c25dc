// Input that is looked at where it lies in the page cache: what is given, and what becomes of it
// when the file is cut short, or its disk fails, under the eyes of the job.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/readers.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/group_values.h"
#include "jobs/engine/input/mapped_part.h"
#include "jobs/engine/input/open_blocks.h"
#include "jobs/engine/input/page_guard.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/memory_file.h"

namespace weir {
namespace {

using testing::MemoryFile;
using testing::MemoryRun;
using testing::RecordingContext;

constexpr std::int64_t kWindow = 1 << 20;

/// Lines "0", "1", ... with a tail that makes them of different lengths, of at least `bytes` bytes.
std::string Lines(std::int64_t bytes) {
  std::string text;
  for (int i = 0; std::ssize(text) < bytes; ++i) {
    absl::StrAppend(&text, i, std::string(static_cast<std::size_t>(i % 97), 'x'), "\n");
  }
  return text;
}

template <typename Source>
absl::StatusOr<std::string> ReadAll(Source source, int* blocks = nullptr) {
  std::string text;
  TextBlock block;
  while (true) {
    const auto more = source.Next(block);
    if (!more.ok()) return more.status();
    if (!*more) return text;
    text += block.text();
    if (blocks != nullptr) ++*blocks;
  }
}

std::string CodeOf(const absl::Status& status) {
  const auto error = StepErrorOf(status);
  return error ? error->code : status.ToString();
}

TEST(MappedInput, EachRecordOnceWhereverCutsAndWindowsEnd) {
  const std::string longest(5 * kWindow / 2, 'l');
  std::string text = Lines(9 * kWindow);
  text.insert(text.find('\n', 4 * kWindow) + 1, longest + "\n");
  text += "last without newline";
  const MemoryFile file(text);
  for (const std::int64_t cut :
       {std::int64_t{0}, std::int64_t{1}, kWindow - 1, kWindow, kWindow + 1, 4 * kWindow,
        5 * kWindow, 6 * kWindow + 4096, 7 * kWindow + 4095, file.bytes() - 1, file.bytes()}) {
    const auto first = ReadAll(OpenBlocks(TextLines::kFraming, file.range(0, cut)));
    const auto second = ReadAll(OpenBlocks(TextLines::kFraming, file.range(cut, file.bytes())));
    ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
    ASSERT_TRUE(*first + *second == text + "\n") << cut;
    ASSERT_TRUE(first->empty() || first->ends_with('\n')) << cut;
  }
}

TEST(MappedInput, BlocksLieInThePageCacheUpToTheEndOfTheRange) {
  const MemoryFile file(Lines(8 * kWindow));
  auto source = OpenBlocks(TextLines::kFraming, file.range());
  TextBlock first, second;
  ASSERT_TRUE(*source.Next(first));
  ASSERT_TRUE(*source.Next(second));
  EXPECT_EQ(second.data, first.data + first.bytes) << "a record across windows is not copied";
  EXPECT_GT(first.bytes, kWindow - 200);

  int blocks = 0;
  DelimitedBlocks copied(Delimiters("\n"), file.range(), InputAccess::kCopied);
  ASSERT_TRUE(*copied.Next(first));
  ASSERT_TRUE(*copied.Next(second));
  EXPECT_NE(second.data, first.data + first.bytes);
  ASSERT_TRUE(ReadAll(OpenBlocks(TextLines::kFraming, file.range()), &blocks).ok());
  EXPECT_LT(blocks, 14) << "windows of 1 MiB, and the last in pieces of 256 KiB";
}

TEST(MappedInput, AByteOrderMarkBelongsToNoRecord) {
  const std::string lines = Lines(6 * kWindow);
  const MemoryFile file("\xEF\xBB\xBF" + lines);
  const auto read = ReadAll(OpenBlocks(TextLines::kFraming, file.range()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == lines);
}

TEST(MappedInput, FixedRecordsAcrossWindows) {
  std::string text;
  for (std::int64_t i = 0; std::ssize(text) < 6 * kWindow; ++i) {
    absl::StrAppend(&text, absl::Dec(i, absl::kZeroPad10));
  }
  const MemoryFile file(text);
  int blocks = 0;
  for (const std::int64_t cut : {std::int64_t{7}, kWindow, kWindow + 3, 5 * kWindow}) {
    const auto first = ReadAll(OpenBlocks(FixedSize{10}, file.range(0, cut)), &blocks);
    const auto second = ReadAll(OpenBlocks(FixedSize{10}, file.range(cut, file.bytes())), &blocks);
    ASSERT_TRUE(first.ok() && second.ok());
    ASSERT_TRUE(*first + *second == text) << cut;
  }
  // Records that no window holds are read.
  const auto large = ReadAll(OpenBlocks(FixedSize{2 * kWindow}, file.range(0, 5 * kWindow)));
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_TRUE(*large == text.substr(0, 6 * kWindow));
}

TEST(MappedInput, AFileCutShortUnderABlockIsNamedAndTheJobFindsEndsOfRecords) {
  const std::string text = Lines(8 * kWindow);
  for (const std::int64_t left : {std::int64_t{0}, std::int64_t{5000}, kWindow / 2}) {
    MemoryFile file(text);
    auto source = OpenBlocks(TextLines::kFraming, file.range());
    TextBlock block;
    ASSERT_TRUE(*source.Next(block));
    file.CutTo(left);
    const std::string seen(block.text());  // without a guard the test ends here
    EXPECT_EQ(seen.substr(0, static_cast<std::size_t>(left)),
              text.substr(0, static_cast<std::size_t>(left)));
    const std::int64_t pages_end = (left + 4095) / 4096 * 4096;
    EXPECT_EQ(seen.find_first_not_of('\n', static_cast<std::size_t>(pages_end)), std::string::npos);
    EXPECT_EQ(CodeOf(source.CheckUnchanged()), step_error::kInputChanged);
    const auto error = StepErrorOf(source.Next(block).status());
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, step_error::kInputChanged);
    EXPECT_EQ(error->file, file.path());
    EXPECT_NE(error->message.find(absl::StrCat("it now ends at byte ", left)), std::string::npos)
        << error->message;
  }
}

TEST(MappedInput, AFileCutShortBeforeTheNextWindowIsNamed) {
  MemoryFile file(Lines(8 * kWindow));
  auto source = OpenBlocks(TextLines::kFraming, file.range());
  TextBlock block;
  ASSERT_TRUE(*source.Next(block));
  file.CutTo(block.bytes + 10);
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = source.Next(block);
  EXPECT_EQ(CodeOf(more.status()), step_error::kInputChanged);

  MemoryFile fixed(Lines(8 * kWindow));
  auto records = OpenBlocks(FixedSize{100}, fixed.range());
  ASSERT_TRUE(*records.Next(block));
  fixed.CutTo(3 * kWindow);
  for (more = true; more.ok() && *more;) more = records.Next(block);
  EXPECT_EQ(CodeOf(more.status()), step_error::kInputChanged);
}

TEST(MappedInput, AFileWrittenToWhileItIsLookedAtIsNamedAtItsEnd) {
  MemoryFile file(Lines(8 * kWindow));
  auto source = OpenBlocks(TextLines::kFraming, file.range());
  TextBlock block;
  ASSERT_TRUE(*source.Next(block));
  const timespec before = file.Look().st_mtim;
  while (file.Look().st_mtim.tv_nsec == before.tv_nsec) {
    ASSERT_EQ(::pwrite(file.fd(), "other", 5, 2 * kWindow), 5);
  }
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = source.Next(block);
  EXPECT_EQ(CodeOf(more.status()), step_error::kInputChanged);
}

TEST(MappedInput, APageThatCannotBeReadOfAFileThatIsTheSameIsUnreadable) {
  const std::string text = Lines(8 * kWindow);
  MemoryFile file(text);
  auto source = OpenBlocks(TextLines::kFraming, file.range());
  TextBlock block;
  ASSERT_TRUE(*source.Next(block));
  // As after a failed disk: the page is not to be had, and nobody wrote to the file.
  const struct stat before = file.Look();
  file.CutTo(0);
  EXPECT_EQ(block.data[10'000], '\n');
  file.CutTo(before.st_size);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::futimens(file.fd(), times), 0);
  const auto error = StepErrorOf(source.Next(block).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kInputUnreadable);
  EXPECT_NE(error->message.find("Input/output error"), std::string::npos) << error->message;
}

/// Cuts its input short at the first line that it sees, then does not like what it finds.
struct CutsItsInput {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::int64_t;
  MemoryFile* file = nullptr;
  bool throws = false;

  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    file->CutTo(6000);
    if (!line.empty()) return emit(line, 1);
    if (throws) throw std::invalid_argument("an empty line");
    emit.Reject(line, "an empty line");
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view line, const Value&, std::string& out) const { out.append(line); }
};

TEST(MappedInput, WhatAJobSaysOfALostPageIsNotWhatIsTold) {
  for (const bool throws : {false, true}) {
    for (const std::size_t skip_bad : {0, 10}) {
      MemoryFile file(Lines(8 * kWindow));
      CutsItsInput job;
      job.file = &file;
      job.throws = throws;
      const auto program = MakeJobProgram(job);
      MemoryRun run;
      RecordingContext context(1);
      context.skip_bad = skip_bad;
      context.check_operation = false;
      const auto totals = program->Map({{file.range()}, {1.0}}, run, context);
      EXPECT_EQ(CodeOf(totals.status()), step_error::kInputChanged) << throws << skip_bad;
    }
  }
}

/// Sorts records of 100 bytes; `kWhole` emits them as they are.
template <bool kWhole>
struct SortsHundreds {
  using Reader = FixedRecords<100>;
  using Key = std::string;
  using Value = std::array<char, 93>;
  static constexpr std::size_t kRecordKeyBytes = 7;
  MemoryFile* cut_at_end = nullptr;
  int seen = 0;

  template <typename Emit>
  void Map(std::string_view record, Emit& emit) {
    if constexpr (kWhole) {
      emit.Record(record);
    } else {
      Value rest;
      std::memcpy(rest.data(), record.data() + 7, rest.size());
      emit(record.substr(0, 7), rest);
    }
    // Nothing of it is read before what was emitted is written.
    if (cut_at_end != nullptr && ++seen * 100 == cut_at_end->bytes()) cut_at_end->CutTo(6000);
  }
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Value>& values, Emit&& emit) const {
    Value rest;
    while (values.Next(rest)) emit(key, rest);
  }
  void Format(std::string_view key, const Value& rest, std::string& out) const {
    out.append(key).append(rest.data(), rest.size());
  }
};

std::string Hundreds(std::int64_t bytes) {
  std::mt19937_64 random(7);
  std::string text;
  for (std::int64_t i = 0; std::ssize(text) < bytes; ++i) {
    const std::string record = absl::StrCat(absl::Dec(random() % 10'000, absl::kZeroPad7), i);
    text.append(record).append(100 - record.size(), static_cast<char>('a' + i % 7));
  }
  return text;
}

std::string Sorted(const std::string& text) {
  std::vector<std::string_view> records;
  for (std::size_t at = 0; at < text.size(); at += 100) {
    records.push_back(std::string_view(text).substr(at, 100));
  }
  std::stable_sort(records.begin(), records.end(),
                   [](auto a, auto b) { return a.substr(0, 7) < b.substr(0, 7); });
  std::string sorted;
  for (const std::string_view record : records) sorted.append(record);
  return sorted;
}

TEST(MappedInput, RecordsThatAreEmittedInPlaceAreThoseThatAreCopied) {
  const std::string text = Hundreds(24 * kWindow);
  const MemoryFile file(text);
  const std::string sorted = Sorted(text);
  // Of the last one a part is in place and the rest is copied, because it may not be more.
  for (const std::int64_t memory_bytes : {std::int64_t{0}, 1000 * kWindow, 45 * kWindow}) {
    for (const int slots : {1, 3}) {
      testing::JobCut cut;
      cut.mappers = {{file.range(0, 9 * kWindow)}, {file.range(9 * kWindow, file.bytes())}};
      cut.num_slots = slots;
      testing::JobLog log;
      log.memory_bytes = memory_bytes;
      const auto whole = testing::RunJob(*MakeJobProgram(SortsHundreds<true>()), cut, log);
      ASSERT_TRUE(whole.ok()) << whole.status();
      EXPECT_TRUE(whole->front() == sorted) << memory_bytes << " " << slots;
      const auto copied = testing::RunJob(*MakeJobProgram(SortsHundreds<false>()), cut, log);
      ASSERT_TRUE(copied.ok()) << copied.status();
      EXPECT_TRUE(copied->front() == sorted);
    }
  }
}

TEST(MappedInput, AFileCutShortUnderRecordsInPlaceIsNamedBeforeTheyCount) {
  MemoryFile file(Hundreds(8 * kWindow).substr(0, 8'000'000));
  SortsHundreds<true> job;
  job.cut_at_end = &file;
  MemoryRun run;
  RecordingContext context(1);
  const auto totals = MakeJobProgram(job)->Map({{file.range()}, {1.0}}, run, context);
  EXPECT_EQ(file.bytes(), 6000);
  EXPECT_EQ(CodeOf(totals.status()), step_error::kInputChanged) << totals.status();
}

TEST(MappedPart, ShortPartsAndOtherFileSystemsAreRead) {
  const MemoryFile file(Lines(8 * kWindow));
  MappedPart part, small, other;
  part.Open(file.fd(), 5, file.bytes(), '\n');
  ASSERT_NE(part.Window(5, 100), nullptr);
  EXPECT_EQ(std::string_view(part.Window(6, 3), 3), "xx\n");
  small.Open(file.fd(), 0, 100'000, '\n');
  EXPECT_EQ(small.Window(0, 100), nullptr);
  const int elsewhere = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  other.Open(elsewhere, 0, 8 * kWindow, '\n');
  ::close(elsewhere);
  EXPECT_EQ(other.Window(0, 100), nullptr);
}

TEST(MappedPart, WhatIsBehindIsGivenUp) {
  const MemoryFile file(Lines(64 * kWindow));
  MappedPart part;
  part.Open(file.fd(), 0, file.bytes(), '\n');
  const char* first = part.Window(0, kWindow);
  ASSERT_NE(first, nullptr);
  for (std::int64_t at = 0; at < 63 * kWindow; at += kWindow) {
    ASSERT_NE(part.Window(at, kWindow), nullptr);
  }
  std::int64_t mapped_kib = -1;
  std::FILE* smaps = std::fopen("/proc/self/smaps", "r");
  ASSERT_NE(smaps, nullptr);
  const std::string head = absl::StrCat(absl::Hex(reinterpret_cast<std::uintptr_t>(first)), "-");
  char line[512];
  for (bool ours = false; std::fgets(line, sizeof line, smaps) != nullptr;) {
    if (std::string_view(line).starts_with(head)) ours = true;
    long kib = 0;
    if (ours && std::sscanf(line, "Rss: %ld kB", &kib) == 1) {
      mapped_kib = kib;
      break;
    }
  }
  std::fclose(smaps);
  EXPECT_GT(mapped_kib, 1000);
  EXPECT_LT(mapped_kib, 10 << 10) << "8 MiB that are kept, and one window";
}

/// A page behind the end of a file: who looks at it gets SIGBUS.
volatile char* PageThatIsNotThere(const MemoryFile& file) {
  void* const map = ::mmap(nullptr, 2 * 4096, PROT_READ, MAP_PRIVATE, file.fd(), 0);
  EXPECT_NE(map, MAP_FAILED);
  return static_cast<char*>(map) + 4096;
}

TEST(PageGuardDeathTest, OtherAccessesEndTheProcessAsBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const MemoryFile file("short");
  volatile char* const page = PageThatIsNotThere(file);
  PageGuard guard;
  const auto guarded = PageThatIsNotThere(file);
  ASSERT_TRUE(guard.Guard(const_cast<char*>(guarded), 4096, 'f'));
  EXPECT_EQ(static_cast<char>(guarded[17]), 'f');
  EXPECT_TRUE(guard.is_broken());
  const auto dies_of_it = [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; };
  EXPECT_EXIT(static_cast<void>(*page), dies_of_it, "");
  EXPECT_EXIT(::raise(SIGBUS), dies_of_it, "");
  guard.Release();
  EXPECT_EXIT(static_cast<void>(PageThatIsNotThere(file)[0]), dies_of_it, "");
}

TEST(PageGuardDeathTest, WhoHadAskedForTheSignalGetsIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    ::signal(SIGBUS, [](int) { ::_exit(7); });
    const MemoryFile file("short");
    PageGuard guard;
    const auto guarded = PageThatIsNotThere(file);
    if (!guard.Guard(const_cast<char*>(guarded), 4096, 'f') || *guarded != 'f') ::_exit(1);
    static_cast<void>(*PageThatIsNotThere(file));
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(7), "");
}

TEST(PageGuard, NothingIsPromisedWhereOthersTookTheSignalOrPlacesAreTaken) {
  const MemoryFile file("short");
  char* const page = const_cast<char*>(PageThatIsNotThere(file));
  PageGuard guard;
  ASSERT_TRUE(guard.Guard(page, 4096, 'f'));
  struct sigaction ours {};
  struct sigaction theirs {};
  theirs.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGBUS, &theirs, &ours), 0);
  EXPECT_FALSE(PageGuard().Guard(page, 4096, 'f'));
  ASSERT_EQ(::sigaction(SIGBUS, &ours, nullptr), 0);

  std::vector<std::unique_ptr<PageGuard>> guards;
  for (int i = 1; i < PageGuard::kGuardsMax; ++i) {
    guards.push_back(std::make_unique<PageGuard>());
    ASSERT_TRUE(guards.back()->Guard(page, 4096, 'f')) << i;
  }
  EXPECT_FALSE(PageGuard().Guard(page, 4096, 'f'));
  guards.pop_back();
  EXPECT_TRUE(PageGuard().Guard(page, 4096, 'f'));
}

}  // namespace
}  // namespace weir
