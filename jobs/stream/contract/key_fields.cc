#include "jobs/stream/contract/key_fields.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::stream {
namespace {

absl::Status NoKeySpec(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'-k", absl::string_view(text.data(), text.size()),
                   "' is no key specification; it must be -kA[.c][n][r][,B[.d][n][r]], with fields "
                   "and bytes from 1"));
}

// Takes a number from the front of `text`.
bool TakeNumber(std::string_view& text, int& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return true;
}

void TakeOrder(std::string_view& text, KeySpec& spec) {
  for (; !text.empty() && (text[0] == 'n' || text[0] == 'r'); text.remove_prefix(1)) {
    (text[0] == 'n' ? spec.numeric : spec.reverse) = true;
  }
}

absl::StatusOr<KeySpec> ReadKeySpec(std::string_view text) {
  const std::string_view whole = text;
  KeySpec spec;
  const auto take_place = [&text](int& field, int& character, int least_character) {
    if (!TakeNumber(text, field) || field < 1) return false;
    if (!text.starts_with('.')) return true;
    text.remove_prefix(1);
    return TakeNumber(text, character) && character >= least_character;
  };
  if (!take_place(spec.first_field, spec.first_char, 1)) return NoKeySpec(whole);
  TakeOrder(text, spec);
  if (text.starts_with(',')) {
    text.remove_prefix(1);
    if (!take_place(spec.last_field, spec.last_char, 0)) return NoKeySpec(whole);
    TakeOrder(text, spec);
  }
  if (!text.empty()) return NoKeySpec(whole);
  return spec;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view TakeDigits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

void Complement(std::size_t from, std::string& bytes) {
  for (std::size_t i = from; i < bytes.size(); ++i) bytes[i] = static_cast<char>(~bytes[i]);
}

// Sign, number of digits before the point, digits, end: compares as the numbers do.
void AppendNumber(std::string_view text, std::string& out) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::string_view whole = TakeDigits(text);
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
    fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
  }
  if (whole.empty() && fraction.empty()) {
    out.push_back('\x02');
    return;
  }
  out.push_back(negative ? '\x01' : '\x03');
  const std::size_t begin = out.size();
  const auto length = static_cast<std::uint32_t>(whole.size());
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(length >> shift));
  out.append(whole).append(fraction).push_back('\0');
  if (negative) Complement(begin, out);
}

// Ends with a mark that is less than any byte which may follow in a longer text.
void AppendText(std::string_view text, std::string& out) {
  for (const char c : text) {
    out.push_back(c);
    if (c == '\0') out.push_back('\xff');
  }
  out.append(2, '\0');
}

}  // namespace

absl::StatusOr<KeyFields> KeyFields::Read(std::string_view options, std::string separator) {
  KeyFields fields;
  fields.separator_ = std::move(separator);
  KeySpec global;
  const std::vector<std::string> words =
      absl::StrSplit(absl::string_view(options.data(), options.size()),
                     absl::ByAnyChar(" \t\n\r\f"), absl::SkipEmpty());
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (word == "-k" && i + 1 < words.size()) word += words[++i];
    if (word.starts_with("-k")) {
      absl::StatusOr<KeySpec> spec = ReadKeySpec(std::string_view(word).substr(2));
      if (!spec.ok()) return spec.status();
      fields.specs_.push_back(*spec);
      fields.by_fields_ = true;
      continue;
    }
    if (word != "-n" && word != "-r" && word != "-nr" && word != "-rn") {
      return absl::InvalidArgumentError(
          absl::StrCat("'", word, "' is no key option; there are -k..., -n, -r and -nr"));
    }
    if (word.find('n') != std::string::npos) global.numeric = true;
    if (word.find('r') != std::string::npos) global.reverse = true;
  }
  for (KeySpec& spec : fields.specs_) {
    if (spec.numeric || spec.reverse) continue;
    spec.numeric = global.numeric;
    spec.reverse = global.reverse;
  }
  if (fields.specs_.empty()) fields.specs_.push_back(global);
  return fields;
}

KeyFields KeyFields::First(int last, std::string separator) {
  KeyFields fields;
  fields.separator_ = std::move(separator);
  fields.by_fields_ = true;
  fields.specs_.push_back({.last_field = last});
  return fields;
}

bool KeyFields::Part(std::string_view key, const KeySpec& spec, std::string_view& part) const {
  // Where field `field` begins, or nothing; without any -k the key is one field.
  const auto begin_of = [&](int field) {
    std::size_t at = 0;
    for (int passed = 1; passed < field; ++passed) {
      const std::size_t found =
          by_fields_ && !separator_.empty() ? key.find(separator_, at) : std::string_view::npos;
      if (found == std::string_view::npos) return std::string_view::npos;
      at = found + separator_.size();
    }
    return at;
  };
  std::size_t begin = begin_of(spec.first_field);
  if (begin == std::string_view::npos) return false;
  begin += static_cast<std::size_t>(spec.first_char) - 1;
  if (begin >= key.size()) return false;
  std::size_t end = key.size();
  const std::size_t last =
      spec.last_field == 0 ? std::string_view::npos : begin_of(spec.last_field);
  if (last != std::string_view::npos) {
    const std::size_t field_end = std::min(key.find(separator_, last), key.size());
    end = spec.last_char == 0
              ? field_end
              : std::min(last + static_cast<std::size_t>(spec.last_char), key.size());
  }
  part = key.substr(begin, std::max(end, begin) - begin);
  return true;
}

int KeyFields::PartitionOf(std::string_view key, int count) const {
  std::uint32_t hash = 0;
  std::string_view part;
  for (const KeySpec& spec : specs_) {
    if (key.empty() || !Part(key, spec, part)) continue;
    for (const char c : part) {
      hash = hash * 31 + static_cast<std::uint32_t>(static_cast<signed char>(c));
    }
  }
  return static_cast<int>((hash & 0x7fffffffU) % static_cast<std::uint32_t>(count));
}

void KeyFields::AppendOrder(std::string_view key, std::string& out) const {
  for (const KeySpec& spec : specs_) {
    const std::size_t begin = out.size();
    std::string_view part;
    if (!Part(key, spec, part)) {
      out.push_back('\0');
    } else if (spec.numeric) {
      AppendNumber(part, out);
    } else {
      out.push_back('\x01');
      AppendText(part, out);
    }
    if (spec.reverse) Complement(begin, out);
  }
}

}  // namespace weir::stream
