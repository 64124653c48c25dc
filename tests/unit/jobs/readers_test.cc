#include "jobs/api/readers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/input/input_file.h"
#include "jobs/engine/input/open_blocks.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

using testing::ScratchFile;

struct NoJob {};

// Collects records as text; rows as fields joined by '|'.
struct Collect {
  std::vector<std::string> records;

  template <typename Emit>
  void Map(std::string_view record, Emit&) {
    records.emplace_back(record);
  }
  template <typename Emit>
  void Map(const CsvRow& row, Emit&) {
    std::string joined;
    for (const std::string_view field : row.fields) joined += std::string(field) + "|";
    records.push_back(joined);
  }
};

template <typename Reader>
absl::StatusOr<std::vector<std::string>> ReadAll(const std::vector<InputRange>& ranges) {
  Collect collect;
  EmitBase<NoJob> emit;
  for (const InputRange& range : ranges) {
    Reader reader;
    auto source = OpenBlocks(Reader::kFraming, range);
    std::int64_t progress = 0;
    TextBlock block;
    while (true) {
      const auto more = source.Next(block);
      if (!more.ok()) return more.status();
      progress += source.TakeProgressBytes();
      if (!*more) break;
      emit.SetBlock(block);
      reader.MapBlock(collect, block, emit);
      if (emit.bad()) return BadRecordError(*emit.bad());
    }
    EXPECT_EQ(progress, range.end - range.begin);
  }
  return collect.records;
}

std::vector<InputRange> Cut(const InputRange& whole, const std::vector<int>& cuts) {
  std::vector<InputRange> ranges;
  std::int64_t begin = 0;
  for (const int cut : cuts) {
    const std::int64_t end = std::clamp<std::int64_t>(cut, begin, whole.end);
    ranges.push_back({whole.path, begin, end, whole.file_bytes});
    begin = end;
  }
  ranges.push_back({whole.path, begin, whole.end, whole.file_bytes});
  return ranges;
}

RC_GTEST_PROP(ReadersProperty, EveryLineOnceWhateverTheCuts, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::weightedElement<char>({{5, 'a'}, {2, '\n'}, {1, '\r'}, {1, '\0'}}));
  std::vector<std::string> expected;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    expected.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  const ScratchFile file(text);
  auto cuts =
      *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, static_cast<int>(text.size()) + 1));
  std::sort(cuts.begin(), cuts.end());
  const auto lines = ReadAll<TextLines>(Cut(file.range(), cuts));
  RC_ASSERT(lines.ok());
  RC_ASSERT(*lines == expected);
}

RC_GTEST_PROP(ReadersProperty, EveryFixedRecordOnceWhateverTheCuts, ()) {
  const auto count = *rc::gen::inRange(0, 40);
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < count; ++i) {
    expected.push_back(std::string(1, static_cast<char>(i)) + "\nx");
    text += expected.back();
  }
  const ScratchFile file(text);
  auto cuts =
      *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, static_cast<int>(text.size()) + 1));
  std::sort(cuts.begin(), cuts.end());
  const auto records = ReadAll<FixedRecords<3>>(Cut(file.range(), cuts));
  RC_ASSERT(records.ok());
  RC_ASSERT(*records == expected);
}

TEST(Readers, LinesLongerThanAChunkAndCutsWithin) {
  const std::string longest(900 << 10, 'l');
  const ScratchFile file("a\n" + longest + "\nb\n" + longest);
  for (const int cut : {1, 2, 3, 300000, 900 << 10, (900 << 10) + 3, (900 << 10) + 5, 1500000}) {
    const auto lines = ReadAll<TextLines>(Cut(file.range(), {cut}));
    ASSERT_TRUE(lines.ok()) << lines.status();
    EXPECT_EQ(*lines, (std::vector<std::string>{"a", longest, "b", longest})) << cut;
  }
}

// Chunks end elsewhere for each cut: which records are too long must not depend on that.
TEST(Readers, ARecordIsTooLongByOneByteWhateverTheCuts) {
  const std::string longest(static_cast<std::size_t>(kRecordBytesMax), 'l');
  const std::vector<std::vector<int>> cuts = {{}, {1000}};
  const ScratchFile fits("a\n" + longest + "\nb\n");
  for (const std::vector<int>& cut : cuts) {
    const auto lines = ReadAll<TextLines>(Cut(fits.range(), cut));
    ASSERT_TRUE(lines.ok()) << lines.status();
    ASSERT_EQ(lines->size(), 3u);
    EXPECT_TRUE((*lines)[1] == longest);
  }
  const ScratchFile too_long("a\n" + longest + "l\nb\n");
  for (const std::vector<int>& cut : cuts) {
    const auto bad = BadRecordOf(ReadAll<TextLines>(Cut(too_long.range(), cut)).status());
    ASSERT_TRUE(bad.has_value());
    EXPECT_EQ(bad->byte_offset, 2);
    EXPECT_FALSE(bad->can_be_left_out);
  }
}

TEST(Readers, AByteOrderMarkBelongsToNoRecordWhereverTheCutIs) {
  const std::string mark = "\xEF\xBB\xBF";
  const ScratchFile file(mark + "station;1\nb\n" + mark + "c");
  const std::vector<std::string> expected = {"station;1", "b", mark + "c"};
  for (int first = 0; first <= 20; ++first) {
    for (int second = first; second <= 20; ++second) {
      const auto lines = ReadAll<TextLines>(Cut(file.range(), {first, second}));
      ASSERT_TRUE(lines.ok()) << lines.status();
      ASSERT_EQ(*lines, expected) << first << ", " << second;
    }
  }
  const ScratchFile only(mark);
  EXPECT_TRUE(ReadAll<TextLines>({only.range()})->empty());
  const ScratchFile part(mark.substr(0, 2));
  EXPECT_EQ(*ReadAll<TextLines>({part.range()}), std::vector<std::string>{mark.substr(0, 2)});
}

TEST(Readers, FileEndingWithinAFixedRecordIsNamed) {
  const ScratchFile file("abcdefgh");
  const auto bad = BadRecordOf(ReadAll<FixedRecords<3>>({file.range()}).status());
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->byte_offset, 6);
  EXPECT_EQ(bad->content, "gh");
}

TEST(Readers, CsvRowsFollowRfc4180) {
  const ScratchFile file("a,b,\n\"x,y\",\"say \"\"hi\"\"\"\r\n,,\n\n\"\"\n");
  const auto rows = ReadAll<CsvRows>({file.range()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(*rows, (std::vector<std::string>{"a|b||", "x,y|say \"hi\"|", "|||", "|", "|"}));
  for (const std::string bad : {"\"open", "\"a\"b,c", "x,\"y"}) {
    const ScratchFile other("ok\n" + bad + "\n");
    const auto record = BadRecordOf(ReadAll<CsvRows>({other.range()}).status());
    ASSERT_TRUE(record.has_value()) << bad;
    EXPECT_EQ(record->byte_offset, 3);
  }
}

RC_GTEST_PROP(ReadersProperty, LinesWithoutQuotesAreCutAtEveryComma, ()) {
  // Around the sizes of which whole vectors are looked at.
  const auto bytes = *rc::gen::inRange<std::size_t>(0, 70);
  const auto line = *rc::gen::container<std::string>(
      bytes, rc::gen::weightedElement<char>({{4, 'a'}, {2, ','}, {1, '\0'}}));
  // Of exactly its size: nothing behind it may be looked at.
  const std::vector<char> memory(line.begin(), line.end());
  CsvRows rows;
  RC_ASSERT(rows.Split({memory.data(), memory.size()}));
  std::vector<std::string> expected = {""};
  for (const char c : line) {
    if (c == ',') {
      expected.emplace_back();
    } else {
      expected.back() += c;
    }
  }
  RC_ASSERT(rows.row().fields.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    RC_ASSERT(rows.row().fields[i] == expected[i]);
  }
}

// Rows of a block are those that Split gives of their lines, with quotes and without, shorter and
// longer than what is looked at once.
RC_GTEST_PROP(ReadersProperty, RowsOfABlockAreTheirLinesSplit, ()) {
  const auto line = rc::gen::container<std::string>(rc::gen::weightedElement<char>(
      {{60, 'a'}, {12, ','}, {*rc::gen::element<std::size_t>(0, 2), '"'}, {3, '\r'}}));
  const auto lines = *rc::gen::container<std::vector<std::string>>(
      rc::gen::withSize([&line](int size) { return rc::gen::resize(4 * size, line); }));
  std::string text;
  Collect expected;
  EmitBase<NoJob> emit;
  bool good = true;
  for (const std::string& one : lines) {
    text += one + "\n";
    CsvRows rows;
    good = good && rows.Split(one);
    if (good) expected.Map(rows.row(), emit);
  }
  const ScratchFile file(text);
  const auto rows = ReadAll<CsvRows>({file.range()});
  RC_ASSERT(rows.ok() == good);
  if (good) RC_ASSERT(*rows == expected.records);
}

TEST(Readers, FileWrittenToWhileReadIsNamed) {
  const ScratchFile file(std::string(1 << 20, 'x') + "\n");
  auto source = OpenBlocks(TextLines::kFraming, file.range());
  std::filesystem::resize_file(file.path(), 1000);
  TextBlock block;
  auto error = StepErrorOf(source.Next(block).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kInputChanged);

  const ScratchFile grown("a\nb\n" + std::string(400 << 10, 'y'));
  auto growing = OpenBlocks(TextLines::kFraming, grown.range());
  ASSERT_TRUE(*growing.Next(block));
  std::ofstream(grown.path(), std::ios::app) << "more";
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = growing.Next(block);
  error = StepErrorOf(more.status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kInputChanged);
  EXPECT_EQ(error->file, grown.path());
}

/// The file as a master lists it.
InputRange Listed(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  constexpr std::int64_t kNanos = 1'000'000'000;
  return {path,
          0,
          status.st_size,
          status.st_size,
          {.modified_ns = status.st_mtim.tv_sec * kNanos + status.st_mtim.tv_nsec,
           .changed_ns = status.st_ctim.tv_sec * kNanos + status.st_ctim.tv_nsec,
           .inode = status.st_ino,
           .device = status.st_dev}};
}

/// The code of the error of reading it; empty when it can be read.
std::string ReadCode(const InputRange& range) {
  const auto records = ReadAll<TextLines>({range});
  if (records.ok()) return "";
  const auto error = StepErrorOf(records.status());
  return error ? error->code : records.status().ToString();
}

/// As `mv` does with a file of the same size that was made at the same time.
void ReplaceBySameSize(const std::string& path, const std::string& contents) {
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  std::ofstream(path + ".new") << contents;
  const timespec times[2] = {status.st_atim, status.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (path + ".new").c_str(), times, 0), 0);
  std::filesystem::rename(path + ".new", path);
  // The kernel's clock for files ticks every few milliseconds.
  const std::int64_t before = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
  while (Listed(path).version.changed_ns == before) ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
}

TEST(Readers, AFileReplacedByOneOfTheSameSizeAndTimeIsNamed) {
  const ScratchFile file("old\n");
  InputRange listed = Listed(file.path());
  EXPECT_EQ(ReadCode(listed), "");
  ReplaceBySameSize(file.path(), "new\n");
  EXPECT_EQ(ReadCode(listed), step_error::kInputChanged);
  // Its time of change alone tells it where numbers of inodes are used again.
  listed.version.inode = Listed(file.path()).version.inode;
  EXPECT_EQ(ReadCode(listed), step_error::kInputChanged);
  EXPECT_EQ(ReadCode(Listed(file.path())), "");
}

TEST(Readers, AFileWrittenToInPlaceAndSetBackIsNamed) {
  const ScratchFile file("old\n");
  const InputRange listed = Listed(file.path());
  const auto modified = std::filesystem::last_write_time(file.path());
  std::ofstream(file.path()) << "new\n";
  do {
    std::filesystem::last_write_time(file.path(), modified);
  } while (Listed(file.path()).version.changed_ns == listed.version.changed_ns);
  EXPECT_EQ(ReadCode(listed), step_error::kInputChanged);
}

TEST(Readers, ElsewhereAFileIsKnownByItsSizeAndTimeOfModification) {
  const ScratchFile file("old\n");
  InputRange listed = Listed(file.path());
  listed.version.device = 0;
  listed.version.inode += 1;
  listed.version.changed_ns += 1;
  EXPECT_EQ(ReadCode(listed), "") << "another mount numbers and stamps in its own way";
  const std::int64_t exact = listed.version.modified_ns;
  listed.version.modified_ns = exact / 1'000'000'000 * 1'000'000'000;
  EXPECT_EQ(ReadCode(listed), "") << "whole seconds only";
  listed.version.modified_ns = exact - 3'000'000'000;
  EXPECT_EQ(ReadCode(listed), step_error::kInputChanged);
  listed.version = {};
  EXPECT_EQ(ReadCode(listed), "") << "nothing is known";
}

TEST(SlotWork, RangesAreCutWithoutGapOrOverlap) {
  const std::vector<InputRange> ranges = {{"a", 5, 12, 20}, {"b", 0, 1, 1}, {"c", 3, 100, 200}};
  for (int slots = 1; slots < 130; ++slots) {
    std::vector<std::pair<std::string, std::int64_t>> bytes;
    for (const auto& piece : SplitRanges(ranges, slots)) {
      for (const InputRange& range : piece) {
        for (std::int64_t at = range.begin; at < range.end; ++at) bytes.push_back({range.path, at});
      }
    }
    std::vector<std::pair<std::string, std::int64_t>> expected;
    for (const InputRange& range : ranges) {
      for (std::int64_t at = range.begin; at < range.end; ++at)
        expected.push_back({range.path, at});
    }
    ASSERT_EQ(bytes, expected) << slots;
  }
}

TEST(InputFile, AFailedReadSaysSoAndDoesNotBlamePermissions) {
  // The kernel answers EIO to a read of memory that is not there.
  InputFile file;
  ASSERT_TRUE(file.Open({"/proc/self/mem", 0, 0, 0}).ok());
  char byte = 0;
  const auto error = StepErrorOf(file.Read(0, &byte, 1));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kInputUnreadable);
  EXPECT_NE(error->message.find("Input/output error"), std::string::npos) << error->message;
  EXPECT_EQ(error->advice.find("readable"), std::string::npos) << error->advice;
  EXPECT_NE(error->advice.find("disk or file server failed"), std::string::npos) << error->advice;
}

}  // namespace
}  // namespace weir
