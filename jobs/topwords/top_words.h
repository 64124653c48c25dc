#pragma once

// The job itself: words of text into one sketch. Upstream: lines of text. Downstream: one part with
// lines "word TAB count".

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/readers.h"
#include "jobs/topwords/word_sketch.h"

namespace weir::topwords {

/// The most frequent maximal runs of bytes that are not ASCII white space.
class TopWords {
 public:
  using Reader = TextLines;
  using Value = WordSketch;
  static constexpr bool kCommutative = true;
  static constexpr bool kOneReducer = true;

  TopWords(const SketchForm& form, std::size_t shown) : form_(form), shown_(shown) {}

  std::int64_t ValueBytes() const { return 8 * WordSketch::PlacesOf(form_); }
  std::int64_t Places() const { return WordSketch::PlacesOf(form_); }
  Value Neutral() const { return WordSketch(form_); }

  template <typename Emit>
  void Map(std::string_view line, Value& value, Emit&) {
    std::size_t at = 0;
    while (at < line.size()) {
      while (at < line.size() && IsSpace(line[at])) ++at;
      const std::size_t begin = at;
      while (at < line.size() && !IsSpace(line[at])) ++at;
      if (at > begin) value.Add(line.substr(begin, at - begin));
    }
  }

  void Combine(Value& into, const Value& from) const { into.Combine(from); }
  Value Split(const Value& value, std::int64_t begin, std::int64_t end) const {
    return value.Split(begin, end);
  }
  void Join(Value& into, const Value& next) const { into.Join(next); }
  /// Which rare words are on the list may depend on the grouping.
  bool Alike(const Value& a, const Value& b) const { return a.SameCells(b); }

  /// Requires: all places.
  void Format(std::int64_t, const Value& value, std::string& out) const {
    std::vector<ListedWord> words = value.Listed();
    for (ListedWord& listed : words) listed.count = value.Estimate(listed.word);
    std::sort(words.begin(), words.end(), [](const ListedWord& a, const ListedWord& b) {
      return a.count != b.count ? a.count > b.count : a.word < b.word;
    });
    if (words.size() > shown_) words.resize(shown_);
    for (const ListedWord& listed : words) {
      absl::StrAppend(&out, listed.word, "\t", listed.count, "\n");
    }
  }

 private:
  static bool IsSpace(char byte) { return absl::ascii_isspace(static_cast<unsigned char>(byte)); }

  SketchForm form_;
  std::size_t shown_;
};

}  // namespace weir::topwords
