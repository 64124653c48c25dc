#include "jobs/engine/input/zstd_input.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "jobs/api/readers.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/packed/zstd_frame.h"
#include "jobs/testing/in_process_job.h"
#include "jobs/testing/memory_steps.h"
#include "tests/unit/jobs/count_lines.h"
#include "tests/unit/jobs/pack_text.h"

namespace weir {
namespace {

using testing::ScratchFile;

std::string Lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i * 7919LL % 1000003) + "\n";
  return text;
}

absl::StatusOr<std::string> ReadZstd(const ScratchFile& file,
                                     std::int64_t decoder_bytes_max = kDecoderBytesDefault,
                                     std::int64_t* held = nullptr) {
  ZstdInput input(decoder_bytes_max);
  if (absl::Status status = input.Open(file.range()); !status.ok()) return status;
  std::string text(1 << 20, '\0');
  std::int64_t filled = 0;
  while (true) {
    const auto got = input.Read(text.data() + filled, std::ssize(text) - filled);
    if (!got.ok()) return got.status();
    filled += *got;
    if (held != nullptr) *held = input.memory_bytes();
    if (filled < std::ssize(text)) break;
    text.resize(2 * text.size());
  }
  text.resize(static_cast<std::size_t>(filled));
  return text;
}

TEST(ZstdFrame, HeadersSayWhatTheLibraryWroteIntoThem) {
  const std::string text = Lines(50'000);
  ASSERT_GT(text.size(), 256u << 10);
  const auto whole = ParseZstdFrame(PackZstd(text, {}));
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->text_bytes, std::ssize(text));
  EXPECT_TRUE(whole->has_checksum);
  EXPECT_FALSE(whole->skippable);
  const auto stream =
      ParseZstdFrame(PackZstd(text, {.checksum = false, .text_bytes = false, .window_log = 20}));
  ASSERT_TRUE(stream.has_value());
  EXPECT_FALSE(stream->text_bytes.has_value());
  EXPECT_FALSE(stream->has_checksum);
  EXPECT_EQ(stream->window_bytes, 1 << 20);
  for (const int bytes : {0, 1, 255, 256, 257, 65'791, 65'792}) {
    const std::string packed = PackZstd(std::string(static_cast<std::size_t>(bytes), 'a'), {});
    const auto frame = ParseZstdFrame(packed);
    ASSERT_TRUE(frame.has_value()) << bytes;
    EXPECT_EQ(frame->text_bytes, bytes);
    // No part of a header is taken for one.
    for (std::int64_t cut = 0; cut < frame->header_bytes; ++cut) {
      EXPECT_FALSE(
          ParseZstdFrame(std::string_view(packed).substr(0, static_cast<std::size_t>(cut))));
    }
  }
  const auto skipped = ParseZstdFrame(SkippableZstd("12345"));
  ASSERT_TRUE(skipped.has_value());
  EXPECT_TRUE(skipped->skippable);
  EXPECT_EQ(skipped->header_bytes + skipped->skipped_bytes, 13);
  EXPECT_FALSE(ParseZstdFrame("no frame at all").has_value());
}

TEST(ZstdInput, FramesOfAllFormsAreOneText) {
  const std::string text = Lines(100'000);
  const std::string half = text.substr(0, text.size() / 2);
  const std::string rest = text.substr(half.size());
  const std::string file =
      SkippableZstd("of a program") + PackZstd(half, {.checksum = false}) + SkippableZstd("") +
      PackZstd("", {}) + PackZstd(rest, {.level = 19, .text_bytes = false}) + SkippableZstd("end");
  const auto read = ReadZstd(ScratchFile(file, ".zst"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, text);
  EXPECT_EQ(*ReadZstd(ScratchFile(SkippableZstd("nothing else"), ".zst")), "");
}

TEST(ZstdInput, AFrameWithoutChecksumThatIsCutAtItsEndIsCutShort) {
  // All of its text is decoded before the decoder could know that something is missing.
  const std::string packed = PackZstd(Lines(1000), {.checksum = true});
  for (int missing = 1; missing <= 4; ++missing) {
    const ScratchFile file(packed.substr(0, packed.size() - static_cast<std::size_t>(missing)),
                           ".zst");
    const auto error = StepErrorOf(ReadZstd(file).status());
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, step_error::kDataLoss);
    EXPECT_EQ(error->byte_offset, file.range().file_bytes);
  }
}

TEST(ZstdInput, AWindowLargerThanTheMemoryIsRefusedWithARemedy) {
  const std::string text = Lines(1000);
  const ScratchFile file(PackZstd(text, {.text_bytes = false}) +
                             PackZstd(text, {.text_bytes = false, .window_log = 27}),
                         ".zst");
  const auto error = StepErrorOf(ReadZstd(file, 100 << 20).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kOutOfMemory);
  EXPECT_NE(error->message.find("134217728"), std::string::npos) << error->message;
  EXPECT_NE(error->advice.find("--memory"), std::string::npos);
  EXPECT_EQ(error->byte_offset, std::ssize(PackZstd(text, {.text_bytes = false})));
  std::int64_t held = 0;
  EXPECT_EQ(*ReadZstd(file, 130 << 20, &held), text + text);
  EXPECT_GT(held, 128 << 20);
  EXPECT_LT(held, 130 << 20);
  // Of a text that is smaller than the window the decoder holds no more than the text.
  const ScratchFile small(PackZstd(text, {.window_log = 27}), ".zst");
  EXPECT_EQ(*ReadZstd(small, 1 << 20, &held), text);
  EXPECT_LT(held, 1 << 20);
}

TEST(ZstdInput, AWindowThatNoDecoderTakesIsRefused) {
  std::string packed = PackZstd(Lines(1000), {.text_bytes = false});
  packed[5] = static_cast<char>(25 << 3);  // 2^35
  const auto error =
      StepErrorOf(ReadZstd(ScratchFile(packed, ".zst"), std::int64_t{1} << 40).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kOutOfMemory);
}

TEST(ZstdInput, AFileThatNeedsADictionarySaysSo) {
  // A frame whose header is given the number of one.
  std::string packed = PackZstd(Lines(100), {.text_bytes = false});
  packed[4] = static_cast<char>(packed[4] | 1);
  packed.insert(6, 1, '\x07');
  const auto error = StepErrorOf(ReadZstd(ScratchFile(packed, ".zst")).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kInputUnreadable);
  EXPECT_NE(error->message.find("dictionary"), std::string::npos);
}

// Where a step has little memory, what the decoder holds is not the table's.
TEST(ZstdInput, TheDecoderCountsIntoTheMemoryOfTheStep) {
  const std::string text = Lines(150'000);
  const ScratchFile plain(text);
  const ScratchFile packed(PackZstd(text, {.text_bytes = false, .window_log = 23}), ".zst");
  const auto spills = [](const ScratchFile& file, std::int64_t memory_bytes) {
    testing::JobLog log;
    log.memory_bytes = memory_bytes;
    log.spill_above = memory_bytes;
    const auto parts = testing::RunJob(*MakeJobProgram(testing::CountLines()),
                                       testing::EvenCut({file.path()}, 1, 1, 1), log);
    EXPECT_TRUE(parts.ok()) << parts.status();
    return log.num_spills;
  };
  constexpr std::int64_t kMemory = 24 << 20;
  EXPECT_EQ(spills(plain, kMemory), 0);
  EXPECT_GT(spills(packed, kMemory), 0);
  EXPECT_EQ(spills(packed, 2 * kMemory), 0);
}

TEST(ZstdInput, DecodersGiveTheirMemoryBack) {
  testing::RecordingContext context(2, 64 << 20);
  EXPECT_EQ(DecoderBytesMax(context), 16 << 20);
  {
    DecoderMemory memory(context);
    memory.Set(5);
    memory.Set(3);
    EXPECT_EQ(context.decoder_bytes(), 3);
  }
  EXPECT_EQ(context.decoder_bytes(), 0);
  testing::RecordingContext without_limit(2);
  EXPECT_EQ(DecoderBytesMax(without_limit), kDecoderBytesDefault);
  testing::RecordingContext tiny(64, 16 << 20);
  EXPECT_EQ(DecoderBytesMax(tiny), kDecoderBytesMin);
}

}  // namespace
}  // namespace weir
