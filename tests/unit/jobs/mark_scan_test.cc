#include "jobs/api/scan/mark_scan.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/api/scan/byte_scan.h"
#include "jobs/api/text_block.h"

namespace weir {
namespace {

// All that this processor has.
std::vector<ScanInstructions> Usable() {
  std::vector<ScanInstructions> usable = {ScanInstructions::kAny};
  const ScanInstructions best = BestScanInstructions();
  if (best != ScanInstructions::kAny) usable.push_back(ScanInstructions::kAvx2);
  if (best == ScanInstructions::kAvx512) usable.push_back(best);
  return usable;
}

// Calls find(text, places) with memory as the functions require it, with each kind of instructions.
template <typename Find>
void WithEach(const std::string& text, Find&& find) {
  // What lies behind is looked at and must not count: all of it is what is looked for.
  const std::string padded = text + std::string(static_cast<std::size_t>(kBlockSlackBytes), ',');
  for (const ScanInstructions instructions : Usable()) {
    UseScanInstructions(instructions);
    std::vector<std::uint32_t> places(text.size() + kPositionSlack);
    const std::uint32_t* const end = find(padded.data(), places.data());
    places.resize(static_cast<std::size_t>(end - places.data()));
    const std::vector<std::uint32_t> found = places;
    RC_ASSERT(found.size() <= text.size() + 1);
    find.Check(found);
  }
  UseScanInstructions(BestScanInstructions());
}

std::vector<std::uint32_t> PlacesBySight(std::string_view text, std::string_view wanted,
                                         std::uint32_t base) {
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (wanted.find(text[i]) != std::string_view::npos) {
      places.push_back(base + static_cast<std::uint32_t>(i));
    }
  }
  return places;
}

// Few marks, or nothing else; around the sizes of which whole words are looked at.
rc::Gen<std::string> Texts() {
  return rc::gen::mapcat(rc::gen::element<std::size_t>(1, 8, 60), [](std::size_t letters) {
    return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 300), [letters](std::size_t bytes) {
      return rc::gen::container<std::string>(
          bytes, rc::gen::weightedElement<char>(
                     {{letters, 'a'}, {2, ','}, {1, '\n'}, {1, ' '}, {1, '\xac'}, {1, '\0'}}));
    });
  });
}

RC_GTEST_PROP(MarkScanProperty, EitherIsFoundWhereItIs, ()) {
  const std::string text = *Texts();
  const auto base = *rc::gen::inRange<std::uint32_t>(0, 1 << 30);
  struct {
    const std::string& text;
    std::uint32_t base;
    std::uint32_t* operator()(const char* data, std::uint32_t* places) const {
      return FindEither(data, static_cast<std::int64_t>(text.size()), ',', '\n', base, places);
    }
    void Check(const std::vector<std::uint32_t>& found) const {
      RC_ASSERT(found == PlacesBySight(text, ",\n", base));
    }
  } find{text, base};
  WithEach(text, find);
}

RC_GTEST_PROP(MarkScanProperty, SparseMarksAreFoundHoweverMany, ()) {
  const std::string text = *Texts();
  struct {
    const std::string& text;
    std::uint32_t* operator()(const char* data, std::uint32_t* places) const {
      return FindSparse(data, static_cast<std::int64_t>(text.size()), ',', places);
    }
    void Check(const std::vector<std::uint32_t>& found) const {
      RC_ASSERT(found == PlacesBySight(text, ",", 0));
    }
  } find{text};
  WithEach(text, find);
}

// How many of the places up to each that ends a row.
std::vector<std::uint32_t> RowsBySight(std::string_view text,
                                       const std::vector<std::uint32_t>& places) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (text[places[i]] == '\n') rows.push_back(static_cast<std::uint32_t>(i + 1));
  }
  return rows;
}

RC_GTEST_PROP(MarkScanProperty, FieldsOfRowsAreFoundUpToAStop, ()) {
  std::string text = *Texts();
  const auto stop = *rc::gen::inRange<std::size_t>(0, 400);
  if (stop < text.size()) text[stop] = '"';
  struct {
    const std::string& text;
    std::size_t stop;
    // Of whole rows, and then of how many fields they are.
    std::uint32_t* operator()(const char* data, std::uint32_t* places) const {
      std::vector<std::uint32_t> rows(text.size() + kPositionSlack);
      const std::uint32_t* const end = FindFieldsBefore(
          data, static_cast<std::int64_t>(text.size()), ',', '\n', '"', places, rows.data());
      rows.resize(static_cast<std::size_t>(end - rows.data()));
      const std::size_t fields = rows.empty() ? 0 : rows.back();
      const auto all = PlacesBySight(std::string_view(text).substr(0, stop), ",\n", 0);
      const std::vector<std::uint32_t> all_rows = RowsBySight(text, all);
      RC_ASSERT(rows.size() <= all_rows.size());
      RC_ASSERT(std::equal(rows.begin(), rows.end(), all_rows.begin()));
      for (std::size_t i = rows.size(); i < all_rows.size(); ++i) {
        RC_ASSERT(stop < text.size());
        RC_ASSERT(all[all_rows[i] - 1] + 64 > stop);
      }
      return places + fields;
    }
    void Check(const std::vector<std::uint32_t>& found) const {
      const auto all = PlacesBySight(std::string_view(text).substr(0, stop), ",\n", 0);
      RC_ASSERT(found.size() <= all.size());
      RC_ASSERT(std::equal(found.begin(), found.end(), all.begin()));
    }
  } find{text, stop};
  WithEach(text, find);
}

RC_GTEST_PROP(MarkScanProperty, ControlsAreFoundWhereverTheyAre, ()) {
  const auto text = *rc::gen::container<std::string>(
      *rc::gen::inRange<std::size_t>(0, 50),
      rc::gen::weightedElement<char>(
          {{60, 'a'}, {20, ' '}, {20, '\xff'}, {20, '\x80'}, {1, '\x1f'}, {1, '\0'}, {1, '\n'}}));
  // At its own end of memory, so that sanitizers see what is read behind it.
  const std::vector<char> alone(text.begin(), text.end());
  const std::string_view view(alone.data(), alone.size());
  RC_ASSERT(HasControl(view) == HasControlPortable(view));
}

RC_GTEST_PROP(ByteScanProperty, ControlsAndOneCharacterAreFoundIn16Bytes, (char c)) {
  const auto text = *rc::gen::container<std::string>(
      16, rc::gen::oneOf(rc::gen::arbitrary<char>(), rc::gen::just(c), rc::gen::just(' '),
                         rc::gen::just('\x1f')));
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < ' ' || text[i] == c) expected |= 1U << i;
  }
  RC_ASSERT(ControlOrMask16(text.data(), c) == expected);
}

RC_GTEST_PROP(ByteScanProperty, SameBytesAreFoundIn16, ()) {
  const auto a = *rc::gen::container<std::string>(16, rc::gen::arbitrary<char>());
  std::string b = a;
  for (const int at : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 16))) {
    b[static_cast<std::size_t>(at)] = *rc::gen::arbitrary<char>();
  }
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) expected |= 1U << i;
  }
  RC_ASSERT(SameMask16(a.data(), b.data()) == expected);
}

RC_GTEST_PROP(MarkScanProperty, WordsBeginAndEndWhereWhiteSpaceSaysSo, ()) {
  const std::string text = *Texts();
  // In two strips, of which the first ends anywhere that is allowed.
  const std::size_t cut = text.size() / 2 / 64 * 64;
  struct {
    const std::string& text;
    std::size_t cut;
    std::uint32_t* operator()(const char* data, std::uint32_t* places) const {
      bool in_word = false;
      places = FindWordEdges(data, static_cast<std::int64_t>(cut), 0, in_word, places);
      places = FindWordEdges(data + cut, static_cast<std::int64_t>(text.size() - cut),
                             static_cast<std::uint32_t>(cut), in_word, places);
      // A word that ends with the text has its end there, unless more of it could follow.
      if (in_word) *places++ = static_cast<std::uint32_t>(text.size());
      return places;
    }
    void Check(const std::vector<std::uint32_t>& found) const {
      std::vector<std::uint32_t> edges;
      bool in_word = false;
      for (std::size_t i = 0; i <= text.size(); ++i) {
        const bool letter = i < text.size() && !IsAsciiSpace(text[i]);
        if (letter != in_word) edges.push_back(static_cast<std::uint32_t>(i));
        in_word = letter;
      }
      RC_ASSERT(found == edges);
    }
  } find{text, cut};
  WithEach(text, find);
}

}  // namespace
}  // namespace weir
