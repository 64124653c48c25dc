#include "jobs/engine/input/packed_input.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/readers.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/pack_text.h"

namespace weir {
namespace {

using testing::EvenCut;
using testing::RunJob;
using testing::ScratchFile;

constexpr Packing kPackings[] = {Packing::kGzip, Packing::kZstd};

ScratchFile Packed(Packing packing, std::string_view bytes) {
  return ScratchFile(bytes, EndingOf(packing));
}

absl::StatusOr<std::string> ReadPacked(const ScratchFile& file, std::int64_t piece = 1000) {
  const auto input = MakePackedInput(PackingOf(file.path()), kDecoderBytesDefault);
  if (absl::Status status = input->Open(file.range()); !status.ok()) return status;
  std::string text;
  std::vector<char> buffer(static_cast<std::size_t>(piece));
  while (true) {
    const auto got = input->Read(buffer.data(), piece);
    if (!got.ok()) return got.status();
    text.append(buffer.data(), static_cast<std::size_t>(*got));
    if (*got < piece) break;
  }
  EXPECT_EQ(input->file_position(), file.range().file_bytes);
  return text;
}

TEST(PackedInput, MembersOneAfterTheOther) {
  for (const Packing packing : kPackings) {
    const std::string two =
        Pack(packing, "first\n") + Pack(packing, "") + Pack(packing, "second\n");
    EXPECT_EQ(*ReadPacked(Packed(packing, two)), "first\nsecond\n");
    EXPECT_EQ(*ReadPacked(Packed(packing, Pack(packing, ""))), "");
  }
}

TEST(PackedInput, ZerosBehindTheLastMemberOfGzipArePadding) {
  const std::string padded = Pack(Packing::kGzip, "text\n") + std::string(600'000, '\0');
  EXPECT_EQ(*ReadPacked(Packed(Packing::kGzip, padded)), "text\n");
}

RC_GTEST_PROP(PackedInputProperty, EveryCutShortFileIsNoticed, ()) {
  const Packing packing = *rc::gen::elementOf(std::vector<Packing>{Packing::kGzip, Packing::kZstd});
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>('a', 'e'));
  const std::string whole = Pack(packing, text) + Pack(packing, text + "x");
  RC_ASSERT(*ReadPacked(Packed(packing, whole), *rc::gen::inRange(1, 50)) == text + text + "x");
  const auto first = Pack(packing, text).size();
  const auto cut = *rc::gen::inRange<std::size_t>(1, whole.size());
  const auto read = ReadPacked(Packed(packing, whole.substr(0, cut)));
  if (cut == first) {
    RC_ASSERT(*read == text);
  } else {
    const auto error = StepErrorOf(read.status());
    RC_ASSERT(error.has_value());
    RC_ASSERT(error->code == step_error::kDataLoss);
    RC_ASSERT(error->byte_offset == static_cast<std::int64_t>(cut));
  }
}

// With a checksum a byte that was changed gives the same text (a name in a header, a free bit) or
// an error, never another text.
RC_GTEST_PROP(PackedInputProperty, NoChangedByteGivesAnotherText, ()) {
  const Packing packing = *rc::gen::elementOf(std::vector<Packing>{Packing::kGzip, Packing::kZstd});
  std::string text;
  const int lines = *rc::gen::inRange(1, 3000);
  for (int i = 0; i < lines; ++i) text += std::to_string(i * 7919 % 1000) + "\n";
  std::string bytes = Pack(packing, text);
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ *rc::gen::inRange(1, 256));
  const auto read = ReadPacked(Packed(packing, bytes));
  if (read.ok()) {
    RC_ASSERT(*read == text || read->empty());
    // The magic number of a skippable frame is four bits away from none that has text.
    RC_ASSERT(*read == text || packing == Packing::kZstd);
  } else {
    RC_ASSERT(StepErrorOf(read.status()).has_value());
  }
}

TEST(PackedInput, DamagedAndOtherFilesAreNamedWithTheirOffset) {
  for (const Packing packing : kPackings) {
    std::string damaged = Pack(packing, std::string(100'000, 'a') + "b");
    const std::size_t in_checksum = damaged.size() - (packing == Packing::kGzip ? 6 : 2);
    damaged[in_checksum] = static_cast<char>(damaged[in_checksum] ^ 1);
    for (const std::string& contents :
         {damaged, std::string("plain text\n"), Pack(packing, "a") + "rubbish"}) {
      const ScratchFile file = Packed(packing, contents);
      const auto error = StepErrorOf(ReadPacked(file).status());
      ASSERT_TRUE(error.has_value());
      EXPECT_EQ(error->code, step_error::kDataLoss);
      EXPECT_EQ(error->file, file.path());
      EXPECT_GE(error->byte_offset, 0);
      EXPECT_LE(error->byte_offset, file.range().file_bytes);
    }
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

TEST(PackedInput, AnyCutOfTheFileGivesEachRecordOnce) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i % 7) + "\n";
  text += "last without newline";
  for (const Packing packing : kPackings) {
    const ScratchFile one = Packed(packing, Pack(packing, text, 1));
    const ScratchFile two("plain\n");
    for (int mappers = 1; mappers < 5; ++mappers) {
      const auto cut = EvenCut({one.path(), two.path()}, mappers, 1, mappers % 3 + 1);
      const auto parts = RunJob(*MakeJobProgram(KeepLines()), cut);
      ASSERT_TRUE(parts.ok()) << parts.status();
      EXPECT_EQ((*parts)[0],
                "0=14286\n1=14286\n2=14286\n3=14286\n4=14286\n5=14285\n6=14285\n"
                "last without newline=1\nplain=1\n");
    }
  }
}

TEST(PackedInput, FixedRecordsOfAnyNumber) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += i % 2 == 0 ? "even" : "odd!";
  for (const Packing packing : kPackings) {
    const ScratchFile whole = Packed(packing, Pack(packing, text));
    const auto parts = RunJob(*MakeJobProgram(Fours()), EvenCut({whole.path()}, 3, 1, 2));
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ((*parts)[0], "even=100000\nodd!=100000\n");
    const ScratchFile broken = Packed(packing, Pack(packing, text + "xyz"));
    const auto bad =
        BadRecordOf(RunJob(*MakeJobProgram(Fours()), EvenCut({broken.path()}, 2, 1, 1)).status());
    ASSERT_TRUE(bad.has_value());
    EXPECT_EQ(bad->byte_offset, 800'000);
    EXPECT_EQ(bad->content, "xyz");
  }
}

TEST(PackedInput, BadRecordsAreNamedByTheirPlaceInTheText) {
  for (const Packing packing : kPackings) {
    const ScratchFile file = Packed(packing, Pack(packing, "good\nbad\n"));
    const auto bad =
        BadRecordOf(RunJob(*MakeJobProgram(KeepLines()), EvenCut({file.path()}, 1, 1, 1)).status());
    ASSERT_TRUE(bad.has_value());
    EXPECT_EQ(bad->byte_offset, 5);
  }
}

TEST(PackedInput, OneByteThatExpandsAThousandfoldKeepsTheLimitOfARecord) {
  for (const Packing packing : kPackings) {
    // 80 MB of one record in 80 KB or less: refused by the limit of records, not by memory.
    const ScratchFile file = Packed(packing, Pack(packing, std::string(80 << 20, 'a'), 9));
    ASSERT_LT(file.range().file_bytes, 100'000);
    const auto bad =
        BadRecordOf(RunJob(*MakeJobProgram(KeepLines()), EvenCut({file.path()}, 1, 1, 1)).status());
    ASSERT_TRUE(bad.has_value());
    EXPECT_NE(bad->reason.find("longer than the limit"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir
