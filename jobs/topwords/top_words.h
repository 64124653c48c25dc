#pragma once

// The job itself: words of text into one sketch. Upstream: blocks of text that end at white space.
// Downstream: one part with lines "word TAB count".

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/readers.h"
#include "jobs/api/record_framing.h"
#include "jobs/api/text_block.h"
#include "jobs/topwords/word_sketch.h"

namespace weir::topwords {

/// Maximal runs of bytes that are not ASCII white space, however long the lines are: a text may be
/// one. Map takes std::string_view.
class Words {
 public:
  static constexpr DelimitedBy kFraming{AsciiSpace::kBytes};

  template <typename Job, typename Emit>
  void MapBlock(Job& job, const TextBlock& block, Emit& emit) {
    const std::string_view text = block.text();
    std::size_t at = 0;
    while (at < text.size()) {
      while (at < text.size() && IsSpace(text[at])) ++at;
      const std::size_t begin = at;
      while (at < text.size() && !IsSpace(text[at])) ++at;
      if (at == begin) continue;
      emit.CountRecord();
      job.Map(text.substr(begin, at - begin), emit);
    }
  }

 private:
  static bool IsSpace(char byte) { return absl::ascii_isspace(static_cast<unsigned char>(byte)); }
};

/// The most frequent words.
class TopWords {
 public:
  using Reader = Words;
  using Value = WordSketch;
  static constexpr bool kCommutative = true;
  static constexpr bool kOneReducer = true;

  TopWords(const SketchForm& form, std::size_t shown) : form_(form), shown_(shown) {}

  std::int64_t ValueBytes() const { return 8 * WordSketch::PlacesOf(form_); }
  std::int64_t Places() const { return WordSketch::PlacesOf(form_); }
  Value Neutral() const { return WordSketch(form_); }

  template <typename Emit>
  void Map(std::string_view word, Value& value, Emit&) {
    value.Add(word);
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
  SketchForm form_;
  std::size_t shown_;
};

}  // namespace weir::topwords
