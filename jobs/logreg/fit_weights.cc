#include "jobs/logreg/fit_weights.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "jobs/records/number.h"

namespace weir::logreg {
namespace {

// Shortest text that reads back as the same number.
void AppendNumber(double value, std::string& out) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
  out.append(text, end.ptr);
}

// -log of the probability of the label; never overflows.
double LogLoss(double margin, bool label) {
  return std::log1p(std::exp(-std::abs(margin))) + std::max(margin, 0.0) - (label ? margin : 0.0);
}

double Probability(double margin) {
  if (margin >= 0) return 1 / (1 + std::exp(-margin));
  const double odds = std::exp(margin);
  return odds / (1 + odds);
}

}  // namespace

std::int64_t Rows::memory_bytes() const {
  return static_cast<std::int64_t>(labels.capacity() + numbers.capacity() * sizeof(double) +
                                   weights.capacity() * sizeof(std::uint32_t) +
                                   ends.capacity() * sizeof(std::size_t));
}

std::uint32_t HashedFeature(std::size_t column, std::string_view text, std::int64_t features) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](std::string_view bytes) {
    for (const char byte : bytes) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
  };
  add(absl::StrCat(column + 1, "="));
  add(text);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  hash ^= hash >> 31;
  return static_cast<std::uint32_t>(hash % static_cast<std::uint64_t>(features));
}

std::string FitWeights::AddRow(const CsvRow& row, Rows& rows) const {
  if (!options_.columns.Fits(row)) return options_.columns.misfit();
  double label = 0;
  if (!ParseNumber(row.fields[options_.label], label) || (label != 0 && label != 1)) {
    return absl::StrCat("the label, column ", options_.columns.NameOf(options_.label),
                        ", is neither 0 nor 1");
  }
  if (options_.hashed) {
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      if (i == options_.label || row.fields[i].empty()) continue;
      rows.weights.push_back(HashedFeature(i, row.fields[i], options_.features));
    }
    rows.ends.push_back(rows.weights.size());
  } else {
    std::string wrong = AddNumbers(row, rows);
    if (!wrong.empty()) return wrong;
  }
  rows.labels.push_back(label == 1);
  return "";
}

std::string FitWeights::AddNumbers(const CsvRow& row, Rows& rows) const {
  const std::size_t before = rows.numbers.size();
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    if (i == options_.label) continue;
    double number = 0;
    if (!ParseNumber(row.fields[i], number)) {
      rows.numbers.resize(before);
      return absl::StrCat("column ", options_.columns.NameOf(i), " ", kNotANumber);
    }
    rows.numbers.push_back(number);
  }
  return "";
}

double FitWeights::Margin(const Rows& rows, std::size_t row, absl::Span<const double> state) const {
  double margin = state[kIntercept];
  if (options_.hashed) {
    for (std::size_t i = row == 0 ? 0 : rows.ends[row - 1]; i < rows.ends[row]; ++i) {
      margin += state[kWeights + rows.weights[i]];
    }
    return margin;
  }
  const auto features = static_cast<std::size_t>(options_.features);
  for (std::size_t i = 0; i < features; ++i) {
    margin += rows.numbers[row * features + i] * state[kWeights + i];
  }
  return margin;
}

void FitWeights::AddGradient(const Rows& rows, std::size_t row, double slope,
                             absl::Span<double> element) const {
  element[kIntercept] += slope;
  if (options_.hashed) {
    for (std::size_t i = row == 0 ? 0 : rows.ends[row - 1]; i < rows.ends[row]; ++i) {
      element[kWeights + rows.weights[i]] += slope;
    }
    return;
  }
  const auto features = static_cast<std::size_t>(options_.features);
  for (std::size_t i = 0; i < features; ++i) {
    element[kWeights + i] += slope * rows.numbers[row * features + i];
  }
}

void FitWeights::Map(int iteration, const Rows& rows, absl::Span<const double> state,
                     absl::Span<double> element) const {
  const auto count = static_cast<double>(rows.labels.size());
  if (iteration == 0) {
    element[kRows] = count;
    return;
  }
  const double share = 1 / state[kRows];
  double loss = 0;
  for (std::size_t row = 0; row < rows.labels.size(); ++row) {
    const double margin = Margin(rows, row, state);
    const bool label = rows.labels[row] != 0;
    loss += LogLoss(margin, label);
    AddGradient(rows, row, (Probability(margin) - (label ? 1.0 : 0.0)) * share, element);
  }
  double squares = 0;
  for (std::size_t i = kWeights; i < state.size() && options_.l2 > 0; ++i) {
    squares += state[i] * state[i];
  }
  // Each mapper adds the part of the penalty that its rows are of all rows.
  element[kLoss] = (loss + count * options_.l2 / 2 * squares) * share;
}

void FitWeights::Combine(int, absl::Span<double> into, absl::Span<const double> from) const {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

absl::StatusOr<LoopOutcome> FitWeights::Update(int iteration, std::int64_t first_place,
                                               absl::Span<const double> state,
                                               absl::Span<const double> element,
                                               absl::Span<double> next) const {
  LoopOutcome outcome;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const std::int64_t place = first_place + static_cast<std::int64_t>(i);
    if (place == kRows) {
      next[i] = iteration == 0 ? element[i] : state[i];
      if (next[i] == 0) return absl::InvalidArgumentError("the input has no row to learn from");
    } else if (place == kLoss) {
      next[i] = iteration == 0 ? std::numeric_limits<double>::infinity() : element[i];
      outcome.measure = next[i];
      if (iteration == 0) continue;
      if (!std::isfinite(next[i])) {
        return absl::InvalidArgumentError(
            absl::StrCat("the loss of iteration ", iteration,
                         " is no finite number; learn more slowly (--set rate), or scale the "
                         "columns"));
      }
      outcome.converged = iteration > 1 && std::abs(state[i] - next[i]) <= options_.tolerance;
    } else if (iteration > 0) {
      const double pull = place >= kWeights ? options_.l2 * state[i] : 0;
      next[i] = state[i] - options_.rate * (element[i] + pull);
    }
  }
  return outcome;
}

void FitWeights::Format(std::int64_t first_place, absl::Span<const double> state,
                        std::string& out) const {
  for (std::size_t i = 0; i < state.size(); ++i) {
    const std::int64_t place = first_place + static_cast<std::int64_t>(i);
    if (place == kLoss) {
      out += "loss";
    } else if (place == kRows) {
      out += "rows";
    } else if (place == kIntercept) {
      out += "intercept";
    } else {
      absl::StrAppend(&out, place - kWeights);
    }
    out += ',';
    AppendNumber(state[i], out);
    out += '\n';
  }
}

}  // namespace weir::logreg
