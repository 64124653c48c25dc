#pragma once

// What an iteration of logistic regression does with rows, gradient and weights. Upstream:
// logreg.cc. Downstream: jobs/engine/loop_program.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jobs/api/readers.h"
#include "jobs/engine/loop_program.h"
#include "jobs/records/csv_columns.h"

namespace weir::logreg {

/// Most weights of hashed features.
inline constexpr std::int64_t kFeaturesMax = 10'000'000;

/// Parameters of a run.
struct Options {
  CsvColumns columns;
  std::size_t label = 0;
  /// Weights without the intercept: a column each, or, hashed, as many as fields are hashed to.
  std::int64_t features = 1;
  bool hashed = false;
  double rate = 0.1;  // of learning, > 0
  double l2 = 0;      // >= 0
  /// A loop ends when an iteration changes the loss by no more than this. >= 0.
  double tolerance = 0;
};

/// Rows of one slot, one after the other: labels, and either all numbers of each row, or the
/// weights that its fields were hashed to.
struct Rows {
  std::vector<char> labels;
  std::vector<double> numbers;
  std::vector<std::uint32_t> weights;
  std::vector<std::size_t> ends;  // of each row in `weights`

  std::int64_t memory_bytes() const;
};

/// Returns the weight, from 0 to features - 1, of a text in a column (counted from 0): FNV-1a of
/// the column's number from 1, '=' and the text, mixed as SplitMix64 does, modulo features.
std::uint32_t HashedFeature(std::size_t column, std::string_view text, std::int64_t features);

/// Gradient descent for the mean log loss of labels 0 and 1, plus l2 / 2 times the sum of the
/// squared weights without the intercept.
///
/// Iteration 0 counts the rows; all weights are 0 after it. Every later one moves each weight
/// against the gradient, times the learning rate.
/// Element: loss, rows (iteration 0 only), then the gradient by intercept, weights; loss and
///   gradient are already divided by the rows of all workers, so that they add up.
/// State: loss at the weights before, rows, intercept, weights. Each place depends on its own only.
/// Errors: kInvalidArgument when there is no row, or the loss is no finite number.
/// Thread-safety: all but Load are const.
/// Checked by: tests/unit/jobs/logreg_test.cc, tests/integration/logreg_test.py.
class FitWeights {
 public:
  using Reader = CsvRows;
  using Place = double;
  using Resident = Rows;
  static constexpr std::string_view kMeasure = "loss";
  static constexpr bool kElementWise = true;
  /// Places of loss, rows, intercept; weights follow.
  static constexpr std::int64_t kLoss = 0, kRows = 1, kIntercept = 2, kWeights = 3;

  explicit FitWeights(const Options& options) : options_(options) {}

  std::int64_t Places() const { return kWeights + options_.features; }
  std::int64_t StatePlaces() const { return Places(); }

  template <typename Emit>
  void Load(const CsvRow& row, Rows& rows, Emit& emit) {
    if (options_.columns.IsHeader(row)) return;
    const std::string wrong = AddRow(row, rows);
    if (!wrong.empty()) emit.Reject(row.line, wrong);
  }
  void Map(int iteration, const Rows& rows, absl::Span<const double> state,
           absl::Span<double> element) const;
  void Combine(int iteration, absl::Span<double> into, absl::Span<const double> from) const;
  absl::StatusOr<LoopOutcome> Update(int iteration, std::int64_t first_place,
                                     absl::Span<const double> state,
                                     absl::Span<const double> element,
                                     absl::Span<double> next) const;
  /// A line "name,value" a place: loss, rows, intercept, then each weight by its feature's number,
  /// from 0.
  void Format(std::int64_t first_place, absl::Span<const double> state, std::string& out) const;

 private:
  std::string AddRow(const CsvRow& row, Rows& rows) const;
  std::string AddNumbers(const CsvRow& row, Rows& rows) const;
  double Margin(const Rows& rows, std::size_t row, absl::Span<const double> state) const;
  void AddGradient(const Rows& rows, std::size_t row, double slope,
                   absl::Span<double> element) const;

  Options options_;
};

}  // namespace weir::logreg
