#include "jobs/engine/input/gzip_input.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/readers.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

using testing::EvenCut;
using testing::RunJob;
using testing::ScratchFile;

std::string Gzip(std::string_view text, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  // zlib does not write to what it reads; its interface is older than const.
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

absl::StatusOr<std::string> ReadGzip(const ScratchFile& file, std::int64_t piece = 1000) {
  GzipInput input;
  if (absl::Status status = input.Open(file.range()); !status.ok()) return status;
  std::string text;
  std::vector<char> buffer(static_cast<std::size_t>(piece));
  while (true) {
    const auto got = input.Read(buffer.data(), piece);
    if (!got.ok()) return got.status();
    text.append(buffer.data(), static_cast<std::size_t>(*got));
    if (*got < piece) break;
  }
  EXPECT_EQ(input.file_position(), file.range().file_bytes);
  return text;
}

TEST(GzipInput, MembersOneAfterTheOtherAndPadding) {
  const std::string two = Gzip("first\n") + Gzip("") + Gzip("second\n");
  EXPECT_EQ(*ReadGzip(ScratchFile(two, ".gz")), "first\nsecond\n");
  EXPECT_EQ(*ReadGzip(ScratchFile(two + std::string(100'000, '\0'), ".gz")), "first\nsecond\n");
  EXPECT_EQ(*ReadGzip(ScratchFile(Gzip(""), ".gz")), "");
}

RC_GTEST_PROP(GzipInputProperty, EveryCutShortFileIsNoticed, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>('a', 'e'));
  const std::string whole = Gzip(text) + Gzip(text + "x");
  RC_ASSERT(*ReadGzip(ScratchFile(whole, ".gz"), *rc::gen::inRange(1, 50)) == text + text + "x");
  const auto first = Gzip(text).size();
  const auto cut = *rc::gen::inRange<std::size_t>(1, whole.size());
  const auto read = ReadGzip(ScratchFile(whole.substr(0, cut), ".gz"));
  if (cut == first) {
    RC_ASSERT(*read == text);
  } else {
    const auto error = StepErrorOf(read.status());
    RC_ASSERT(error.has_value());
    RC_ASSERT(error->code == step_error::kDataLoss);
    RC_ASSERT(error->byte_offset == static_cast<std::int64_t>(cut));
  }
}

TEST(GzipInput, DamagedAndOtherFilesAreNamedWithTheirOffset) {
  std::string damaged = Gzip(std::string(100'000, 'a') + "b");
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // checksum
  for (const std::string& contents :
       {damaged, std::string("plain text\n"), Gzip("a") + "rubbish"}) {
    const ScratchFile file(contents, ".gz");
    const auto error = StepErrorOf(ReadGzip(file).status());
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, step_error::kDataLoss);
    EXPECT_EQ(error->file, file.path());
    EXPECT_GT(error->byte_offset, 0);
    EXPECT_LE(error->byte_offset, file.range().file_bytes);
  }
}

struct KeepLines {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::int64_t;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    if (line == "bad") return emit.Reject(line, "as it says");
    emit(line, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view line, const Value& count, std::string& out) const {
    out.append(line).append("=").append(std::to_string(count)).append("\n");
  }
};

struct Fours : KeepLines {
  using Reader = FixedRecords<4>;
};

TEST(GzipInput, AnyCutOfTheFileGivesEachRecordOnce) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i % 7) + "\n";
  text += "last without newline";
  const ScratchFile one(Gzip(text, 1), ".gz"), two("plain\n");
  ASSERT_GT(one.range().file_bytes, 100);
  for (int mappers = 1; mappers < 5; ++mappers) {
    const auto cut = EvenCut({one.path(), two.path()}, mappers, 1, mappers % 3 + 1);
    const auto parts = RunJob(*MakeJobProgram(KeepLines()), cut);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ((*parts)[0],
              "0=14286\n1=14286\n2=14286\n3=14286\n4=14286\n5=14285\n6=14285\n"
              "last without newline=1\nplain=1\n");
  }
}

TEST(GzipInput, FixedRecordsOfAnyNumber) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += i % 2 == 0 ? "even" : "odd!";
  const ScratchFile whole(Gzip(text), ".gz");
  const auto parts = RunJob(*MakeJobProgram(Fours()), EvenCut({whole.path()}, 3, 1, 2));
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0], "even=100000\nodd!=100000\n");
  const ScratchFile broken(Gzip(text + "xyz"), ".gz");
  const auto bad =
      BadRecordOf(RunJob(*MakeJobProgram(Fours()), EvenCut({broken.path()}, 2, 1, 1)).status());
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->byte_offset, 800'000);
  EXPECT_EQ(bad->content, "xyz");
}

TEST(GzipInput, BadRecordsAreNamedByTheirPlaceInTheText) {
  const ScratchFile file(Gzip("good\nbad\n"), ".gz");
  const auto bad =
      BadRecordOf(RunJob(*MakeJobProgram(KeepLines()), EvenCut({file.path()}, 1, 1, 1)).status());
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->byte_offset, 5);
}

TEST(GzipInput, OneByteThatExpandsAThousandfoldKeepsTheLimitOfARecord) {
  // 80 MB of one record in 80 KB: refused by the limit of records, not by memory.
  const ScratchFile file(Gzip(std::string(80 << 20, 'a'), 9), ".gz");
  ASSERT_LT(file.range().file_bytes, 100'000);
  const auto bad =
      BadRecordOf(RunJob(*MakeJobProgram(KeepLines()), EvenCut({file.path()}, 1, 1, 1)).status());
  ASSERT_TRUE(bad.has_value());
  EXPECT_NE(bad->reason.find("longer than the limit"), std::string::npos);
}

}  // namespace
}  // namespace weir
