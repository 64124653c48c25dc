#include "jobs/packed/member_borders.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/jobs/pack_text.h"

namespace weir {
namespace {

enum class Form { kBgzf, kFrames, kSeekTable };
constexpr Form kForms[] = {Form::kBgzf, Form::kFrames, Form::kSeekTable};

std::string Number(std::size_t number) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

struct PackedFile {
  std::string bytes;
  std::vector<MemberBorder> members;  // where each begins, and the end
};

PackedFile PackMembers(Form form, const std::vector<std::string>& texts) {
  PackedFile file;
  std::string table;
  MemberBorder at;
  for (const std::string& text : texts) {
    file.members.push_back(at);
    const std::string member = form == Form::kBgzf
                                   ? PackBgzf(text)
                                   : PackZstd(text, {.text_bytes = form == Form::kFrames});
    file.bytes += member;
    table += Number(member.size()) + Number(text.size());
    at = {std::ssize(file.bytes), at.text_at + std::ssize(text)};
  }
  if (form == Form::kSeekTable) {
    table += Number(texts.size()) + std::string(1, '\0') + Number(0x8F92EAB1);
    file.bytes += "\x5e\x2a\x4d\x18" + Number(table.size()) + table;
    at.at = std::ssize(file.bytes);
  }
  file.members.push_back(at);
  return file;
}

absl::StatusOr<std::vector<MemberBorder>> BordersOf(Form form, const std::string& bytes,
                                                    std::int64_t looks = 1'000'000) {
  const auto read = [&bytes](std::int64_t offset,
                             std::int64_t size) -> absl::StatusOr<std::string> {
    if (offset < 0 || offset > std::ssize(bytes)) return absl::OutOfRangeError("beyond the file");
    return bytes.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  };
  return form == Form::kBgzf ? BgzfBorders(read, std::ssize(bytes), looks)
                             : ZstdBorders(read, std::ssize(bytes), looks);
}

// Text that hardly packs, in members of 50 000 bytes.
std::vector<std::string> Texts(int count) {
  std::vector<std::string> texts;
  std::uint64_t state = 1;
  for (int i = 0; i < count; ++i) {
    std::string& text = texts.emplace_back();
    while (text.size() < 50'000) {
      state = state * 6364136223846793005 + 1442695040888963407;
      text.push_back(static_cast<char>(state >> 56));
    }
  }
  return texts;
}

bool IsMember(const PackedFile& file, const MemberBorder& border) {
  return std::any_of(file.members.begin(), file.members.end(), [&](const MemberBorder& member) {
    return member.at == border.at && member.text_at == border.text_at;
  });
}

TEST(MemberBorders, PiecesBeginAndEndWhereMembersDo) {
  for (const Form form : kForms) {
    const PackedFile file = PackMembers(form, Texts(40));
    const auto borders = BordersOf(form, file.bytes);
    ASSERT_TRUE(borders.ok()) << borders.status();
    // Of 2 MB, in pieces of 256 KiB or more: six members each.
    ASSERT_EQ(borders->size(), 8u);
    EXPECT_EQ(borders->front().at, 0);
    EXPECT_EQ(borders->back().at, std::ssize(file.bytes));
    EXPECT_EQ(borders->back().text_at, 2'000'000);
    for (const MemberBorder& border : *borders) EXPECT_TRUE(IsMember(file, border)) << border.at;
    for (std::size_t i = 1; i < borders->size(); ++i) {
      EXPECT_GE((*borders)[i].text_at - (*borders)[i - 1].text_at, kPieceTextBytesMin);
    }
  }
}

TEST(MemberBorders, FilesThatDoNotSayEverythingHaveNone) {
  const std::vector<std::string> texts = Texts(40);
  std::string gzip, streamed, one, late;
  for (const std::string& text : texts) {
    gzip += Pack(Packing::kGzip, text);
    streamed += PackZstd(text, {.text_bytes = false});
    one += text;
    late += PackBgzf(text);
  }
  EXPECT_TRUE(BordersOf(Form::kBgzf, gzip)->empty());
  EXPECT_TRUE(BordersOf(Form::kBgzf, late + Pack(Packing::kGzip, "end"))->empty());
  EXPECT_TRUE(BordersOf(Form::kFrames, streamed)->empty());
  EXPECT_TRUE(BordersOf(Form::kFrames, PackZstd(one, {}))->empty());
  EXPECT_TRUE(BordersOf(Form::kBgzf, "")->empty());
  EXPECT_TRUE(BordersOf(Form::kFrames, "")->empty());
  for (const Form form : kForms) {
    const std::string whole = PackMembers(form, texts).bytes;
    EXPECT_TRUE(BordersOf(form, whole.substr(0, whole.size() - 1))->empty());
    EXPECT_TRUE(BordersOf(form, whole + "x")->empty());
    EXPECT_TRUE(BordersOf(form, whole, 1)->empty());
  }
}

TEST(MemberBorders, AFileThatIsCutShortBetweenTwoLooksHasNone) {
  const std::string file = PackMembers(Form::kSeekTable, Texts(40)).bytes;
  for (const std::int64_t left : {0, 20, 60}) {
    int looks = 0;
    const auto read = [&](std::int64_t offset, std::int64_t size) -> absl::StatusOr<std::string> {
      const std::string whole =
          file.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
      return ++looks < 2 ? whole : whole.substr(0, static_cast<std::size_t>(left));
    };
    std::int64_t looks_left = 2;
    const auto borders = ZstdBorders(read, std::ssize(file), looks_left);
    EXPECT_GE(looks, 2);
    EXPECT_TRUE(!borders.ok() || borders->empty()) << left;
  }
}

TEST(MemberBorders, EmptyMembersAndSkippableFramesMakeNoPieces) {
  std::vector<std::string> texts = Texts(12);
  for (std::size_t i = 0; i < 12; ++i) texts.insert(texts.begin() + static_cast<int>(2 * i), "");
  texts.insert(texts.end(), 3'000, "");
  for (const Form form : kForms) {
    const PackedFile file = PackMembers(form, texts);
    const auto borders = BordersOf(form, file.bytes);
    ASSERT_TRUE(borders.ok());
    ASSERT_EQ(borders->size(), 3u);
    EXPECT_EQ(borders->back().at, std::ssize(file.bytes));
  }
  const PackedFile frames = PackMembers(Form::kFrames, Texts(12));
  const std::string skipped = SkippableZstd(std::string(100'000, 'x'));
  const auto borders = BordersOf(Form::kFrames, skipped + frames.bytes + skipped);
  ASSERT_TRUE(borders.ok());
  // Behind 100 000 bytes without text four members make a piece, and six the next.
  ASSERT_EQ(borders->size(), 4u);
  EXPECT_EQ((*borders)[1].text_at, 200'000);
  EXPECT_EQ(borders->back().text_at, 600'000);
}

TEST(MemberBorders, ErrorsOfReadingAreTold) {
  std::int64_t looks = 100;
  const auto fails = [](std::int64_t, std::int64_t) -> absl::StatusOr<std::string> {
    return absl::UnavailableError("no disk");
  };
  EXPECT_EQ(BgzfBorders(fails, 1000, looks).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ZstdBorders(fails, 1000, looks).status().code(), absl::StatusCode::kUnavailable);
}

RC_GTEST_PROP(MemberBordersProperty, ChangedBytesGiveBordersInOrderOrNone, ()) {
  const Form form = kForms[*rc::gen::inRange(0, 3)];
  std::string bytes = PackMembers(form, Texts(14)).bytes;
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  if (*rc::gen::inRange(0, 2) == 0) bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
  const auto borders = BordersOf(form, bytes);
  RC_ASSERT(borders.ok());
  if (borders->empty()) return;
  RC_ASSERT(borders->size() >= 3u);
  RC_ASSERT(borders->front().at == 0);
  RC_ASSERT(borders->back().at == std::ssize(bytes));
  for (std::size_t i = 1; i < borders->size(); ++i) {
    RC_ASSERT((*borders)[i].at > (*borders)[i - 1].at);
    RC_ASSERT((*borders)[i].text_at >= (*borders)[i - 1].text_at + kPieceTextBytesMin);
  }
}

}  // namespace
}  // namespace weir
