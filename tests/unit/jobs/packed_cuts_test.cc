// Packed files that are cut between members, against the same text in a plain file.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/input/open_blocks.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/testing/memory_steps.h"
#include "tests/unit/jobs/pack_text.h"

namespace weir {
namespace {

using testing::ScratchFile;

struct Cut {
  std::string packed;
  InputRange whole;  // but for its path
};

/// A file of these members, with all of their borders.
Cut PackMembers(Packing packing, const std::vector<std::string>& texts) {
  Cut cut;
  PackedBorder at;
  for (const std::string& text : texts) {
    cut.whole.borders.push_back(at);
    cut.packed += packing == Packing::kGzip ? PackBgzf(text) : PackZstd(text, {});
    at = {std::ssize(cut.packed), at.text_at + std::ssize(text)};
  }
  cut.whole.borders.push_back(at);
  cut.whole.text_bytes = at.text_at;
  cut.whole.end = cut.whole.file_bytes = at.at;
  return cut;
}

InputRange Part(const InputRange& whole, std::size_t first, std::size_t last) {
  InputRange part = whole;
  part.borders.assign(whole.borders.begin() + static_cast<std::ptrdiff_t>(first),
                      whole.borders.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  part.begin = part.borders.front().at;
  part.end = part.borders.back().at;
  return part;
}

template <typename Framing>
absl::StatusOr<std::string> ReadAll(const Framing& framing, const InputRange& range) {
  auto source = OpenBlocks(framing, range);
  std::string text;
  TextBlock block;
  std::int64_t progress = 0;
  while (true) {
    const auto more = source.Next(block);
    if (!more.ok()) return more.status();
    progress += source.TakeProgressBytes();
    if (!*more) break;
    // Where its first record lies, unless at the beginning of the text.
    if (text.empty() && block.file_offset != 0) text = std::to_string(block.file_offset) + ":";
    text.append(block.data, static_cast<std::size_t>(block.bytes));
  }
  EXPECT_EQ(progress, range.end - range.begin);
  return text;
}

std::vector<std::string> RandomMembers(bool lines) {
  std::vector<std::string> members(static_cast<std::size_t>(*rc::gen::inRange(1, 8)));
  for (std::string& text : members) {
    const int records = *rc::gen::inRange(0, 6);
    for (int i = 0; i < records; ++i) {
      const int bytes =
          *rc::gen::inRange(0, 20) == 0 ? *rc::gen::inRange(0, 60'000) : *rc::gen::inRange(0, 9);
      if (text.size() + static_cast<std::size_t>(bytes) > 60'000) break;
      text.append(static_cast<std::size_t>(bytes),
                  static_cast<char>('a' + *rc::gen::inRange(0, 26)));
      if (lines && *rc::gen::inRange(0, 4) > 0) text.push_back('\n');
    }
  }
  return members;
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

/// Reads the parts between some of the borders, one after the other.
template <typename Framing>
std::string ReadInParts(const Framing& framing, const InputRange& whole) {
  std::string all;
  std::size_t first = 0;
  while (first + 1 < whole.borders.size()) {
    const std::size_t last = *rc::gen::inRange(first + 1, whole.borders.size());
    absl::StatusOr<std::string> part = ReadAll(framing, Part(whole, first, last));
    RC_ASSERT(part.ok());
    // The place that a part begins at is told as long as nothing was read before.
    const std::size_t colon = part->find(':');
    if (colon != std::string::npos) {
      RC_ASSERT(std::stoll(*part) == std::ssize(all));
      part->erase(0, colon + 1);
    }
    all += *part;
    first = last;
  }
  return all;
}

RC_GTEST_PROP(PackedCutsProperty, LinesAreReadOnceInOrderWhereverMembersEnd, ()) {
  const Packing packing = *rc::gen::inRange(0, 2) == 0 ? Packing::kGzip : Packing::kZstd;
  const std::vector<std::string> members = RandomMembers(true);
  Cut cut = PackMembers(packing, members);
  const ScratchFile file(cut.packed, EndingOf(packing));
  cut.whole.path = file.path();
  std::string text = Joined(members);
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  RC_ASSERT(ReadInParts(DelimitedBy{"\n"}, cut.whole) == text);
}

RC_GTEST_PROP(PackedCutsProperty, RecordsOfOneSizeAreReadOnceInOrder, ()) {
  const Packing packing = *rc::gen::inRange(0, 2) == 0 ? Packing::kGzip : Packing::kZstd;
  std::vector<std::string> members = RandomMembers(false);
  const int record_bytes = *rc::gen::inRange(1, 30);
  members.back().append((static_cast<std::size_t>(record_bytes) -
                         Joined(members).size() % static_cast<std::size_t>(record_bytes)) %
                            static_cast<std::size_t>(record_bytes),
                        'z');
  Cut cut = PackMembers(packing, members);
  const ScratchFile file(cut.packed, EndingOf(packing));
  cut.whole.path = file.path();
  RC_ASSERT(ReadInParts(FixedSize{record_bytes}, cut.whole) == Joined(members));
}

RC_GTEST_PROP(PackedCutsProperty, SlotsGetPartsBetweenBordersThatCoverTheFile, ()) {
  const std::vector<std::string> members = RandomMembers(true);
  const InputRange whole = PackMembers(Packing::kZstd, members).whole;
  std::int64_t at = 0;
  for (const auto& ranges : SplitRanges({&whole, 1}, *rc::gen::inRange(1, 9))) {
    for (const InputRange& range : ranges) {
      RC_ASSERT(range.begin == at);
      RC_ASSERT(range.borders.front().at == range.begin);
      RC_ASSERT(range.borders.back().at == range.end);
      at = range.end;
    }
  }
  RC_ASSERT(at == whole.end);
}

TEST(PackedCuts, AByteOrderMarkOfOneByteAMemberIsNoText) {
  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    Cut cut = PackMembers(packing, {"\xEF", "\xBB", "\xBF", "a", "\n", "b\n"});
    const ScratchFile file(cut.packed, EndingOf(packing));
    cut.whole.path = file.path();
    std::string text;
    for (std::size_t i = 0; i < 6; ++i) {
      const auto part = ReadAll(DelimitedBy{"\n"}, Part(cut.whole, i, i + 1));
      ASSERT_TRUE(part.ok()) << part.status();
      text += part->substr(part->find(':') == std::string::npos ? 0 : part->find(':') + 1);
    }
    EXPECT_EQ(text, "a\nb\n");
  }
}

// Sizes in headers, or in a table, that are not those of the texts: found, whoever reads what.
TEST(PackedCuts, WrongSizesAreFound) {
  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    const Cut cut = PackMembers(packing, {"one\ntwo\n", "three\nfour\n", "five\nsix\n"});
    const ScratchFile file(cut.packed, EndingOf(packing));
    for (const std::int64_t wrong : {-6, -1, 1, 6}) {
      for (const std::size_t which : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
        InputRange whole = cut.whole;
        whole.path = file.path();
        whole.borders[which].text_at += wrong;
        if (which == 3) whole.text_bytes += wrong;
        bool found = false;
        for (std::size_t i = 0; i < 3; ++i) {
          const auto part = ReadAll(DelimitedBy{"\n"}, Part(whole, i, i + 1));
          if (part.ok()) continue;
          found = true;
          const auto error = StepErrorOf(part.status());
          ASSERT_TRUE(error.has_value()) << part.status();
          EXPECT_EQ(error->code, step_error::kDataLoss);
        }
        EXPECT_TRUE(found) << "border " << which << " wrong by " << wrong;
      }
    }
  }
}

TEST(PackedCuts, DamagedChecksumsAtTheEndOfAPartAreFound) {
  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    Cut cut = PackMembers(packing, {"one\ntwo\n", "three\nfour\n"});
    for (const std::size_t border : {std::size_t{1}, std::size_t{2}}) {
      std::string damaged = cut.packed;
      char& byte = damaged[static_cast<std::size_t>(cut.whole.borders[border].at) -
                           (packing == Packing::kGzip ? 6 : 2)];
      byte = static_cast<char>(byte ^ 1);
      const ScratchFile file(damaged, EndingOf(packing));
      cut.whole.path = file.path();
      const auto part = ReadAll(DelimitedBy{"\n"}, Part(cut.whole, border - 1, border));
      const auto error = StepErrorOf(part.status());
      ASSERT_TRUE(error.has_value()) << border;
      EXPECT_EQ(error->code, step_error::kDataLoss);
    }
  }
}

}  // namespace
}  // namespace weir
