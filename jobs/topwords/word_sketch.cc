#include "jobs/topwords/word_sketch.h"

#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "absl/strings/string_view.h"

namespace weir::topwords {

WordSketch::WordSketch(const SketchForm& form)
    : form_(form), listed_(true), cells_(static_cast<std::size_t>(kRows * form.width)) {}

// Rows by double hashing: Kirsch, Mitzenmacher, "Less hashing, same performance", 2006.
std::size_t WordSketch::CellOf(std::uint64_t hash, std::int64_t row) const {
  const std::uint64_t step = (hash >> 32) | 1;
  const std::uint64_t at =
      (hash + static_cast<std::uint64_t>(row) * step) & static_cast<std::uint64_t>(form_.width - 1);
  return static_cast<std::size_t>(row * form_.width) + static_cast<std::size_t>(at);
}

void WordSketch::Add(std::string_view word) {
  const std::uint64_t hash = XXH3_64bits(word.data(), word.size());
  for (std::int64_t row = 0; row < kRows; ++row) ++cells_[CellOf(hash, row)];
  ++num_words_;
  const auto known = list_.find(absl::string_view(word.data(), word.size()));
  if (known != list_.end()) {
    ++known->second;
    return;
  }
  list_.emplace(std::string(word), 1);
  list_bytes_ += static_cast<std::int64_t>(word.size());
  if (list_.size() > 2 * form_.capacity) Shorten();
}

void WordSketch::Shorten() {
  if (list_.size() <= form_.capacity) return;
  std::vector<std::int64_t> counts;
  counts.reserve(list_.size());
  for (const auto& [word, count] : list_) counts.push_back(count);
  const auto cut = counts.begin() + static_cast<std::ptrdiff_t>(form_.capacity);
  std::nth_element(counts.begin(), cut, counts.end(), std::greater<>());
  const std::int64_t off = *cut;
  absl::erase_if(list_, [&](auto& listed) {
    listed.second -= off;
    if (listed.second > 0) return false;
    list_bytes_ -= static_cast<std::int64_t>(listed.first.size());
    return true;
  });
}

void WordSketch::Combine(const WordSketch& other) {
  for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i] += other.cells_[i];
  num_words_ += other.num_words_;
  // As they would be sent: what is on the way must not show.
  WordSketch shortened;
  const WordSketch* from = &other;
  if (other.list_.size() > form_.capacity) {
    shortened.form_ = other.form_;
    shortened.list_ = other.list_;
    shortened.Shorten();
    from = &shortened;
  }
  Shorten();
  for (const auto& [word, count] : from->list_) {
    const auto [at, is_new] = list_.try_emplace(word, 0);
    at->second += count;
    if (is_new) list_bytes_ += static_cast<std::int64_t>(word.size());
  }
  Shorten();
}

WordSketch WordSketch::Split(std::int64_t begin, std::int64_t end) const {
  WordSketch piece;
  piece.form_ = form_;
  piece.listed_ = listed_ && begin == 0 && end > 0;
  if (piece.listed_) {
    piece.num_words_ = num_words_;
    piece.list_ = list_;
    piece.list_bytes_ = list_bytes_;
  }
  const std::int64_t before = listed_ ? 1 : 0;
  const auto cell = [&](std::int64_t place) {
    return cells_.begin() + std::max<std::int64_t>(0, place - before);
  };
  piece.cells_.assign(cell(begin), cell(end));
  return piece;
}

void WordSketch::Join(const WordSketch& next) {
  if (next.listed_) {  // behind no places at all
    listed_ = true;
    num_words_ = next.num_words_;
    list_ = next.list_;
    list_bytes_ = next.list_bytes_;
  }
  cells_.insert(cells_.end(), next.cells_.begin(), next.cells_.end());
}

std::int64_t WordSketch::Estimate(std::string_view word) const {
  const std::uint64_t hash = XXH3_64bits(word.data(), word.size());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t row = 0; row < kRows; ++row) least = std::min(least, cells_[CellOf(hash, row)]);
  return least;
}

std::vector<ListedWord> WordSketch::Listed() const {
  std::vector<ListedWord> words;
  words.reserve(list_.size());
  for (const auto& [word, count] : list_) words.push_back({word, count});
  std::sort(words.begin(), words.end(),
            [](const ListedWord& a, const ListedWord& b) { return a.word < b.word; });
  return words;
}

std::int64_t WordSketch::heap_bytes() const {
  constexpr std::int64_t kEntryBytes = sizeof(std::pair<std::string, std::int64_t>) + 1;
  return static_cast<std::int64_t>(cells_.capacity() * sizeof cells_[0]) + list_bytes_ +
         static_cast<std::int64_t>(list_.capacity()) * kEntryBytes;
}

void WordSketch::AppendTo(std::string& out) const {
  ValueCodec<std::int64_t>::Append(form_.width, out);
  ValueCodec<std::uint64_t>::Append(form_.capacity, out);
  ValueCodec<std::int64_t>::Append(listed_ ? 1 : 0, out);
  ValueCodec<std::int64_t>::Append(num_words_, out);
  WordSketch shortened;
  const WordSketch* from = this;
  if (list_.size() > form_.capacity) {
    shortened.form_ = form_;
    shortened.list_ = list_;
    shortened.Shorten();
    from = &shortened;
  }
  ValueCodec<std::uint64_t>::Append(from->list_.size(), out);
  for (const ListedWord& listed : from->Listed()) {
    ValueCodec<std::string>::Append(listed.word, out);
    ValueCodec<std::int64_t>::Append(listed.count, out);
  }
  ValueCodec<std::uint64_t>::Append(cells_.size(), out);
  out.append(reinterpret_cast<const char*>(cells_.data()), cells_.size() * sizeof cells_[0]);
}

bool WordSketch::Take(std::string_view& in, WordSketch& sketch) {
  sketch = WordSketch();
  std::uint64_t capacity = 0, words = 0, cells = 0;
  std::int64_t listed = 0;
  if (!ValueCodec<std::int64_t>::Take(in, sketch.form_.width) ||
      !ValueCodec<std::uint64_t>::Take(in, capacity) ||
      !ValueCodec<std::int64_t>::Take(in, listed) ||
      !ValueCodec<std::int64_t>::Take(in, sketch.num_words_) ||
      !ValueCodec<std::uint64_t>::Take(in, words) || words > capacity) {
    return false;
  }
  sketch.form_.capacity = capacity;
  sketch.listed_ = listed != 0;
  for (std::uint64_t i = 0; i < words; ++i) {
    std::string word;
    std::int64_t count = 0;
    if (!ValueCodec<std::string>::Take(in, word) || !ValueCodec<std::int64_t>::Take(in, count)) {
      return false;
    }
    sketch.list_bytes_ += static_cast<std::int64_t>(word.size());
    sketch.list_.emplace(std::move(word), count);
  }
  if (!ValueCodec<std::uint64_t>::Take(in, cells) || cells > in.size() / sizeof(std::int64_t)) {
    return false;
  }
  sketch.cells_.resize(cells);
  const std::size_t bytes = cells * sizeof(std::int64_t);
  std::copy_n(in.data(), bytes, reinterpret_cast<char*>(sketch.cells_.data()));
  in.remove_prefix(bytes);
  return true;
}

}  // namespace weir::topwords
