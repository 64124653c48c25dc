#include "jobs/stream/contract/aggregate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir::stream {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status NoNumber(std::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat("value '", View(value.substr(0, 200)), "' is no number"));
}

bool ReadLong(std::string_view text, std::int64_t& number) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

enum class Choice { kSum, kMax, kMin };

class Longs : public Aggregator {
 public:
  explicit Longs(Choice choice) : choice_(choice) {
    if (choice == Choice::kMax) value_ = std::numeric_limits<std::int64_t>::min();
    if (choice == Choice::kMin) value_ = std::numeric_limits<std::int64_t>::max();
  }
  absl::Status Add(std::string_view value) override {
    std::int64_t number = 0;
    if (!ReadLong(value, number)) return NoNumber(value);
    if (choice_ == Choice::kMax) value_ = std::max(value_, number);
    if (choice_ == Choice::kMin) value_ = std::min(value_, number);
    // Sums that do not fit wrap around, as Java's do.
    if (choice_ == Choice::kSum) {
      value_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(value_) +
                                         static_cast<std::uint64_t>(number));
    }
    return absl::OkStatus();
  }
  std::string Report() const override { return absl::StrCat(value_); }
  std::vector<std::string> Combined() const override { return {Report()}; }

 private:
  const Choice choice_;
  std::int64_t value_ = 0;
};

class DoubleSum : public Aggregator {
 public:
  absl::Status Add(std::string_view value) override {
    double number = 0;
    if (!absl::SimpleAtod(View(value), &number)) return NoNumber(value);
    sum_ += number;
    return absl::OkStatus();
  }
  std::string Report() const override { return JavaDouble(sum_); }
  std::vector<std::string> Combined() const override { return {Report()}; }

 private:
  double sum_ = 0;
};

class Strings : public Aggregator {
 public:
  explicit Strings(Choice choice) : choice_(choice) {}
  absl::Status Add(std::string_view value) override {
    const bool better = choice_ == Choice::kMax ? value > value_ : value < value_;
    if (!any_ || better) value_ = value;
    any_ = true;
    return absl::OkStatus();
  }
  std::string Report() const override { return value_; }
  std::vector<std::string> Combined() const override { return {value_}; }

 private:
  const Choice choice_;
  bool any_ = false;
  std::string value_;
};

class UniqueValues : public Aggregator {
 public:
  absl::Status Add(std::string_view value) override {
    values_.insert(std::string(value));
    return absl::OkStatus();
  }
  std::string Report() const override { return absl::StrCat(values_.size()); }
  std::vector<std::string> Combined() const override { return {values_.begin(), values_.end()}; }

 private:
  absl::btree_set<std::string> values_;
};

// How often each value came: as a report the number of values, then the least, the middle, the
// largest, the mean and the standard deviation of how often.
class Histogram : public Aggregator {
 public:
  absl::Status Add(std::string_view value) override {
    std::int64_t count = 1;
    const std::size_t tab = value.rfind('\t');
    if (tab != std::string_view::npos) {
      if (!ReadLong(value.substr(tab + 1), count)) return NoNumber(value);
      value = value.substr(0, tab);
    }
    counts_[std::string(value)] += count;
    return absl::OkStatus();
  }
  std::string Report() const override {
    std::vector<std::int64_t> counts;
    double sum = 0;
    for (const auto& [value, count] : counts_) counts.push_back(count);
    std::sort(counts.begin(), counts.end());
    for (const std::int64_t count : counts) sum += static_cast<double>(count);
    if (counts.empty()) return "0";
    const double mean = sum / static_cast<double>(counts.size());
    double squares = 0;
    for (const std::int64_t count : counts) {
      squares += (static_cast<double>(count) - mean) * (static_cast<double>(count) - mean);
    }
    return absl::StrCat(counts.size(), "\t", counts.front(), "\t", counts[counts.size() / 2], "\t",
                        counts.back(), "\t", JavaDouble(mean), "\t",
                        JavaDouble(std::sqrt(squares / static_cast<double>(counts.size()))));
  }
  std::vector<std::string> Combined() const override {
    std::vector<std::string> values;
    for (const auto& [value, count] : counts_) values.push_back(absl::StrCat(value, "\t", count));
    return values;
  }

 private:
  absl::btree_map<std::string, std::int64_t> counts_;
};

}  // namespace

std::string JavaDouble(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  const double size = std::fabs(number);
  const bool plain = size == 0 || (size >= 1e-3 && size < 1e7);
  char digits[400];
  const auto end = std::to_chars(digits, digits + sizeof digits, number,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string text(digits, end);
  if (plain) return text.find('.') == std::string::npos ? text + ".0" : text;
  const std::size_t at = text.find('e');
  std::string mantissa = text.substr(0, at);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  int exponent = 0;
  const char* const from = text.c_str() + at + (text[at + 1] == '+' ? 2 : 1);
  std::from_chars(from, text.c_str() + text.size(), exponent);
  return absl::StrCat(mantissa, "E", exponent);
}

absl::StatusOr<AggregateKey> ReadAggregateKey(std::string_view key) {
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("aggregate takes keys TYPE:NAME, as LongValueSum:word; '",
                     View(key.substr(0, 200)), "' has no ':'"));
  }
  return AggregateKey{key.substr(0, colon), key.substr(colon + 1)};
}

absl::StatusOr<std::unique_ptr<Aggregator>> MakeAggregator(std::string_view type) {
  const auto is = [type](const char* name) { return absl::EqualsIgnoreCase(View(type), name); };
  if (is("LongValueSum")) return std::make_unique<Longs>(Choice::kSum);
  if (is("LongValueMax")) return std::make_unique<Longs>(Choice::kMax);
  if (is("LongValueMin")) return std::make_unique<Longs>(Choice::kMin);
  if (is("DoubleValueSum")) return std::make_unique<DoubleSum>();
  if (is("StringValueMax")) return std::make_unique<Strings>(Choice::kMax);
  if (is("StringValueMin")) return std::make_unique<Strings>(Choice::kMin);
  if (is("UniqValueCount")) return std::make_unique<UniqueValues>();
  if (is("ValueHistogram")) return std::make_unique<Histogram>();
  return absl::InvalidArgumentError(absl::StrCat(
      "aggregate knows no '", View(type.substr(0, 200)),
      "'; there are LongValueSum, LongValueMax, LongValueMin, DoubleValueSum, StringValueMax, "
      "StringValueMin, UniqValueCount and ValueHistogram"));
}

}  // namespace weir::stream
