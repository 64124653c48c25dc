#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "jobs/api/step_error.h"
#include "jobs/stream/framed.h"
#include "jobs/stream/frames/column.h"
#include "jobs/stream/frames/frame.h"
#include "jobs/stream/frames/item.h"
#include "jobs/testing/in_process_job.h"

namespace weir::stream {
namespace {

using weir::testing::ProgramOf;
using weir::testing::RunOnText;

std::string IntegerItem(std::int64_t value, ItemForm form = ItemForm::kPlain) {
  std::string out;
  AppendInteger(value, form, out);
  return out;
}
std::string FloatItem(double value, ItemForm form = ItemForm::kPlain) {
  std::string out;
  EXPECT_TRUE(AppendFloat(value, form, out));
  return out;
}
std::string ContentItem(ItemTag tag, std::string_view content, ItemForm form = ItemForm::kPlain) {
  std::string out;
  AppendContent(tag, content, form, out);
  return out;
}
std::string TagItem(ItemTag tag) { return std::string(1, static_cast<char>(tag)); }
std::string BigItem(bool negative, const std::string& magnitude) {
  std::string out = TagItem(negative ? ItemTag::kBigNegative : ItemTag::kBigPositive);
  AppendU32(static_cast<std::uint32_t>(magnitude.size()), out);
  return out + magnitude;
}
std::string TupleItem(const std::vector<std::string>& elements) {
  std::string out = TagItem(ItemTag::kTuple);
  AppendU32(static_cast<std::uint32_t>(elements.size()), out);
  for (const std::string& element : elements) out += element;
  return out;
}

std::string Changed(const std::string& item, ItemForm from, ItemForm to) {
  std::string_view left = item;
  ItemView view;
  std::string out;
  EXPECT_TRUE(TakeItem(left, from, view));
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(AppendItem(view, from, to, out));
  return out;
}
std::string Key(const std::string& plain) {
  return Changed(plain, ItemForm::kPlain, ItemForm::kKey);
}

rc::Gen<std::string> AnyContent() {
  return rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::element('\0', '\1', '\xff', 'a'), rc::gen::arbitrary<char>()));
}

// A plain item that may be a key.
rc::Gen<std::string> AnyKey(int depth = 0) {
  const auto simple = rc::gen::oneOf(
      rc::gen::element(TagItem(ItemTag::kFalse), TagItem(ItemTag::kTrue)),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                   [](std::int64_t n) { return IntegerItem(n); }),
      rc::gen::map(rc::gen::arbitrary<std::int32_t>(),
                   [](std::int32_t n) { return FloatItem(n == 0 ? 0.0 : 1.0 / n); }),
      rc::gen::map(AnyContent(),
                   [](const std::string& s) { return ContentItem(ItemTag::kText, s); }),
      rc::gen::map(AnyContent(),
                   [](const std::string& s) { return ContentItem(ItemTag::kBytes, s); }),
      rc::gen::map(rc::gen::pair(rc::gen::arbitrary<bool>(), AnyContent()),
                   [](const std::pair<bool, std::string>& big) {
                     return BigItem(big.first, "\1" + big.second);
                   }));
  if (depth >= 2) return simple;
  return rc::gen::oneOf(
      simple,
      rc::gen::map(rc::gen::scale(0.3, rc::gen::container<std::vector<std::string>>(
                                           rc::gen::lazy([depth] { return AnyKey(depth + 1); }))),
                   TupleItem));
}

RC_GTEST_PROP(FrameItems, KeysAreThemselvesAgain, ()) {
  const std::string plain = *AnyKey();
  RC_ASSERT(Changed(Key(plain), ItemForm::kKey, ItemForm::kPlain) == plain);
}

RC_GTEST_PROP(FrameItems, IntegersAreOrderedByValue, (std::int64_t a, std::int64_t b)) {
  RC_ASSERT((Key(IntegerItem(a)) < Key(IntegerItem(b))) == (a < b));
}

RC_GTEST_PROP(FrameItems, FloatsAreOrderedByValue, ()) {
  const auto any = rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) {
    const double value = std::bit_cast<double>(bits);
    return std::isnan(value) ? 1.5 : value;
  });
  const double a = *any;
  const double b = *any;
  RC_ASSERT((FloatItem(a, ItemForm::kKey) < FloatItem(b, ItemForm::kKey)) == (a < b));
}

RC_GTEST_PROP(FrameItems, ContentsAreOrderedByByteAlsoInTuples, ()) {
  const std::string a = *AnyContent();
  const std::string b = *AnyContent();
  const std::string rest = IntegerItem(*rc::gen::arbitrary<std::int64_t>());
  const auto item = [](const std::string& s) { return ContentItem(ItemTag::kBytes, s); };
  RC_ASSERT((Key(item(a)) < Key(item(b))) == (a < b));
  if (a != b) {
    RC_ASSERT((Key(TupleItem({item(a), rest})) < Key(TupleItem({item(b)}))) == (a < b));
  }
}

TEST(FrameItems, OrderAcrossKinds) {
  const std::string large(9, '\x7f');
  const std::vector<std::string> rising = {
      TagItem(ItemTag::kFalse),
      TagItem(ItemTag::kTrue),
      BigItem(true, large + "a"),
      BigItem(true, large),
      BigItem(true, std::string("\x01") + std::string(8, '\0')),
      IntegerItem(std::numeric_limits<std::int64_t>::min()),
      IntegerItem(-1),
      IntegerItem(0),
      IntegerItem(std::numeric_limits<std::int64_t>::max()),
      BigItem(false, std::string(8, '\xff')),
      BigItem(false, large),
      FloatItem(-std::numeric_limits<double>::infinity()),
      FloatItem(-0.5),
      FloatItem(0),
      FloatItem(std::numeric_limits<double>::infinity()),
      ContentItem(ItemTag::kText, ""),
      ContentItem(ItemTag::kText, std::string(1, '\0')),
      ContentItem(ItemTag::kText, "a"),
      ContentItem(ItemTag::kText, std::string("a\0", 2)),
      ContentItem(ItemTag::kText, "ab"),
      ContentItem(ItemTag::kBytes, ""),
      TupleItem({}),
      TupleItem({IntegerItem(1)}),
      TupleItem({IntegerItem(1), TagItem(ItemTag::kFalse)}),
      TupleItem({IntegerItem(2)})};
  for (std::size_t i = 0; i + 1 < rising.size(); ++i) {
    EXPECT_LT(Key(rising[i]), Key(rising[i + 1])) << i;
  }
  EXPECT_EQ(FloatItem(-0.0, ItemForm::kKey), FloatItem(0.0, ItemForm::kKey));
}

TEST(FrameItems, WhatHasNoOrderIsNoKey) {
  for (const std::string& plain : {TagItem(ItemTag::kNone), ContentItem(ItemTag::kPickled, "x"),
                                   FloatItem(std::numeric_limits<double>::quiet_NaN()),
                                   TupleItem({TagItem(ItemTag::kNone)})}) {
    std::string_view left = plain;
    ItemView view;
    std::string out;
    ASSERT_TRUE(TakeItem(left, ItemForm::kPlain, view));
    EXPECT_FALSE(AppendItem(view, ItemForm::kPlain, ItemForm::kKey, out));
  }
}

RC_GTEST_PROP(FrameItems, WhatIsCutIsNoItem, ()) {
  const std::string plain = *AnyKey();
  const std::string key = Key(plain);
  for (const auto& [whole, form] :
       {std::pair(plain, ItemForm::kPlain), std::pair(key, ItemForm::kKey)}) {
    const auto keep = *rc::gen::inRange<std::size_t>(0, whole.size());
    // In memory of exactly this size, so that a sanitizer sees what is read beyond.
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(keep));
    std::string_view left(cut.data(), cut.size());
    ItemView view;
    RC_ASSERT(!TakeItem(left, form, view));
  }
}

RC_GTEST_PROP(FrameColumns, ItemsAreThemselvesAgain, ()) {
  // Of one kind most often: what columns are for.
  const auto one = *AnyKey();
  const std::vector<std::string> plain =
      *rc::gen::oneOf(rc::gen::container<std::vector<std::string>>(AnyKey()),
                      rc::gen::container<std::vector<std::string>>(rc::gen::map(
                          AnyContent(),
                          [](const std::string& s) {
                            return TupleItem({ContentItem(ItemTag::kText, s), IntegerItem(7)});
                          })),
                      rc::gen::container<std::vector<std::string>>(rc::gen::just(one)));
  for (const ItemForm form : {ItemForm::kPlain, ItemForm::kKey}) {
    std::vector<std::string> items;
    for (const std::string& item : plain) {
      items.push_back(form == ItemForm::kKey ? Key(item) : item);
    }
    std::string column;
    RC_ASSERT(AppendColumn({items.begin(), items.end()}, form, column));
    std::string_view left = column;
    auto taken = Column::Take(left, static_cast<std::uint32_t>(items.size()));
    RC_ASSERT(taken.ok());
    RC_ASSERT(left.empty());
    for (const std::string& item : items) {
      std::string out;
      RC_ASSERT(taken->AppendNext(form, out));
      RC_ASSERT(out == item);
    }
    const auto keep = *rc::gen::inRange<std::size_t>(0, column.size());
    const std::vector<char> cut(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(keep));
    std::string_view short_left(cut.data(), cut.size());
    RC_ASSERT(!Column::Take(short_left, static_cast<std::uint32_t>(items.size())).ok());
  }
}

RC_GTEST_PROP(FrameReaders, FramesComeWholeHoweverTheyAreCut, ()) {
  const auto contents = *rc::gen::container<std::vector<std::string>>(AnyContent());
  std::string bytes;
  for (const std::string& content : contents) {
    AppendFrameHead(FrameType::kResult, content.size(), bytes);
    bytes += content;
  }
  FrameReader reader;
  std::vector<std::string> got;
  const auto take = [&got](FrameType type, std::string_view content) {
    EXPECT_EQ(type, FrameType::kResult);
    got.emplace_back(content);
    return absl::OkStatus();
  };
  std::string_view left = bytes;
  while (!left.empty()) {
    const auto size = *rc::gen::inRange<std::size_t>(1, left.size() + 1);
    RC_ASSERT(reader.Add(left.substr(0, size), take).ok());
    left.remove_prefix(size);
  }
  RC_ASSERT(reader.at_frame_end());
  RC_ASSERT(got == contents);
}

TEST(FrameReaders, RefusesWhatIsNoFrame) {
  FrameReader reader;
  const auto take = [](FrameType, std::string_view) { return absl::OkStatus(); };
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Add("hello\n", take)));
  FrameReader other;
  EXPECT_TRUE(absl::IsInvalidArgument(other.Add("P\xff\xff\xff\xff", take)));
}

TEST(GroupFrames, AGroupGoesOnInTheNextFrame) {
  GroupFrame groups;
  const std::string a = Key(IntegerItem(1));
  const std::string b = Key(IntegerItem(2));
  const auto head_of = [&groups] {
    std::string frame;
    EXPECT_TRUE(groups.Take(frame));
    std::string_view left = std::string_view(frame).substr(kFrameHeadBytes);
    const bool goes_on = left.front() == 1;
    left.remove_prefix(1);
    std::uint32_t num_groups = 0, num_values = 0;
    EXPECT_TRUE(TakeU32(left, num_groups) && TakeU32(left, num_values));
    return std::tuple(goes_on, num_groups, num_values);
  };
  groups.Add(a, IntegerItem(10));
  groups.Add(a, IntegerItem(11));
  EXPECT_EQ(head_of(), std::tuple(false, 1u, 2u));
  groups.Add(a, IntegerItem(12));
  groups.Add(b, IntegerItem(13));
  EXPECT_EQ(head_of(), std::tuple(true, 2u, 2u));
  EXPECT_TRUE(groups.empty());
  groups.Add(Key(IntegerItem(3)), IntegerItem(14));
  EXPECT_EQ(head_of(), std::tuple(false, 1u, 1u));
}

absl::Status ErrorOf(const std::string& mapper) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto definition = MakeFramedDefinition();
  const auto program = ProgramOf(*definition, {{"mapper", mapper}});
  return RunOnText(*program, "a\nb\n", 1, 1, 1).status();
}

TEST(FramedPrograms, WhatSpeaksNoFramesIsAnErrorOfTheUser) {
  for (const auto& [mapper, says] : std::vector<std::pair<std::string, std::string>>{
           {"sh -c 'cat >/dev/null; echo hello'", "no frame"},
           {"cat", "no frame"},
           {"sh -c 'cat >/dev/null'", "ended before it was done"},
           {"sh -c 'cat >/dev/null; printf \"D\\0\\0\\0\\0P\\0\"'", "ended before it was done"},
           {"sh -c 'cat >/dev/null; printf \"P\\4\\0\\0\\0\\1\\0\\0\\0\"'", "column is missing"},
           {"sh -c 'cat >/dev/null; printf \"R\\2\\0\\0\\0xx\"'", "how many records it has"},
           {"sh -c 'cat >/dev/null; exit 3'", "exited with code 3"}}) {
    const absl::Status status = ErrorOf(mapper);
    const auto error = StepErrorOf(status);
    ASSERT_TRUE(error.has_value()) << mapper << ": " << status;
    EXPECT_EQ(error->code, step_error::kUserError) << mapper;
    EXPECT_NE(error->message.find(says), std::string::npos) << mapper << ": " << error->message;
  }
}

TEST(FramedPrograms, ACommandMustBeGiven) {
  const auto definition = MakeFramedDefinition();
  const auto values = CheckParameters(definition->info(), {});
  ASSERT_TRUE(values.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(definition->CheckValues(*values)));
}

}  // namespace
}  // namespace weir::stream
