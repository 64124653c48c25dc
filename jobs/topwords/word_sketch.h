#pragma once

// Counts words in bounded memory: a Count-Min sketch and a list of the frequent ones. Upstream:
// words. Downstream: top_words.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jobs/api/value_codec.h"

namespace weir::topwords {

/// What a sketch is made for.
struct SketchForm {
  /// Cells of a row; a power of two.
  std::int64_t width = 0;
  /// Words on the list.
  std::size_t capacity = 0;
};

/// A word and how often it was there, at least.
struct ListedWord {
  std::string word;
  std::int64_t count = 0;
};

/// Count-Min sketch of kRows rows, and a list of words.
///
/// Model: each row adds a word to one of its cells; the least of a word's cells is its estimate:
///   never too small, and too large by more than e / width of all words with a probability of at
///   most e^-kRows. Cells add up, so any order and grouping of Add and Combine gives the same
///   cells. The list keeps counts of at most 2 capacity words while words are added, and of
///   `capacity` when it is sent: when it is full, the (capacity + 1)-th largest count is taken off
///   all. A word that makes up more than 1 / (capacity + 1) of all words is always on it; which
///   rare words are beside it depends on how they were grouped, unless there are no more than
///   `capacity` words.
/// Pieces: place 0 is the list with the number of all words, place i + 1 cell i, row by row.
/// Source: Cormode, Muthukrishnan, "An improved data stream summary: the count-min sketch and its
///   applications", J. Algorithms 55(1), 2005; Misra, Gries, "Finding repeated elements", Science
///   of Computer Programming 2(2), 1982, merged as in Agarwal, Cormode, Huang, Phillips, Wei, Yi,
///   "Mergeable summaries", PODS 2012, section 3.
/// Bounds: 8 kRows width bytes, and the list. Counts up to 2^63 - 1.
/// Checked by: tests/unit/jobs/topwords_test.cc, tests/integration/combine_test.py.
class WordSketch {
 public:
  static constexpr std::int64_t kRows = 4;

  WordSketch() = default;
  explicit WordSketch(const SketchForm& form);

  static std::int64_t PlacesOf(const SketchForm& form) { return 1 + kRows * form.width; }

  void Add(std::string_view word);
  /// Requires: the same form, and the same places.
  void Combine(const WordSketch& other);
  /// The places [begin, end), counted from the first that this sketch or piece has.
  WordSketch Split(std::int64_t begin, std::int64_t end) const;
  /// Appends a piece of the places behind.
  void Join(const WordSketch& next);

  /// Requires: all places.
  std::int64_t Estimate(std::string_view word) const;
  /// Words of the list with the counts that are certain, by word.
  std::vector<ListedWord> Listed() const;
  std::int64_t num_words() const { return num_words_; }
  bool SameCells(const WordSketch& other) const {
    return cells_ == other.cells_ && num_words_ == other.num_words_;
  }

  /// Bytes outside of the object, about.
  std::int64_t heap_bytes() const;

  /// Appends its bytes; Take removes them from the front of `in` and returns false when they are
  /// not those of a sketch.
  void AppendTo(std::string& out) const;
  static bool Take(std::string_view& in, WordSketch& sketch);

 private:
  std::size_t CellOf(std::uint64_t hash, std::int64_t row) const;
  // Takes counts off until no more than `capacity` words are left.
  void Shorten();

  SketchForm form_;
  bool listed_ = false;  // has place 0
  std::int64_t num_words_ = 0;
  absl::flat_hash_map<std::string, std::int64_t> list_;
  std::int64_t list_bytes_ = 0;  // of words that are on it
  std::vector<std::int64_t> cells_;
};

}  // namespace weir::topwords

namespace weir {

template <>
struct ValueCodec<topwords::WordSketch> {
  static void Append(const topwords::WordSketch& value, std::string& out) { value.AppendTo(out); }
  static bool Take(std::string_view& in, topwords::WordSketch& value) {
    return topwords::WordSketch::Take(in, value);
  }
};

}  // namespace weir
