#include "planner/load/matching_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"

namespace weir::planner::load {
namespace {

// Entries below this, of a window of length one, count as used up.
constexpr double kUsedUp = 1e-13;
// The decomposition ends this close to the end of the window.
constexpr double kEndSlack = 1e-10;
constexpr double kOverfull = 1e-6;
constexpr int kNone = -1;

/// Square matrix in one block.
class SquareMatrix {
 public:
  explicit SquareMatrix(int size) : size_(size), cells_(At(size) * At(size), 0.0) {}
  double& operator()(int row, int column) { return cells_[At(row) * At(size_) + At(column)]; }
  double operator()(int row, int column) const { return cells_[At(row) * At(size_) + At(column)]; }
  int size() const { return size_; }

 private:
  int size_;
  std::vector<double> cells_;
};

/// A row of bins of capacity one, filled from the first.
struct Corner {
  int bin = 0;
  double room = 1;

  void Take(double part) {
    room -= part;
    if (room <= kUsedUp) {
      ++bin;
      room = 1;
    }
  }
};

/// Puts each of `slack` into the bins, in order, and returns how far it got.
template <typename Put>
Corner FillInOrder(const std::vector<double>& slack, int num_bins, Put put) {
  Corner corner;
  for (std::size_t i = 0; i < slack.size(); ++i) {
    double rest = slack[i];
    while (rest > kUsedUp && corner.bin < num_bins) {
      const double part = std::min(rest, corner.room);
      put(static_cast<int>(i), corner.bin, part);
      rest -= part;
      corner.Take(part);
    }
  }
  return corner;
}

/// W extended by dummy columns (rows idle) and dummy rows (columns idle).
///
/// With b = channels if the total fills them, else floor(total): n - b dummy columns take all row
/// slack and leave total - b < 1 of their room, which the dummy-dummy corner takes. So a perfect
/// matching has b real pairs, or b + 1 <= channels.
SquareMatrix Extend(const std::vector<std::vector<double>>& send_time, double length,
                    int channels) {
  const int rows = static_cast<int>(send_time.size());
  const int columns = static_cast<int>(send_time[0].size());
  std::vector<double> row_slack(At(rows), 1), column_slack(At(columns), 1);
  double total = 0;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const double w = send_time[At(i)][At(j)] / length;
      row_slack[At(i)] -= w;
      column_slack[At(j)] -= w;
      total += w;
    }
  }
  const int usable = std::min({channels, rows, columns});
  const int busy = usable - std::max(0, static_cast<int>(std::ceil(usable - total - 1e-12)));
  SquareMatrix matrix(rows + columns - busy);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) matrix(i, j) = send_time[At(i)][At(j)] / length;
  }
  Corner column = FillInOrder(row_slack, rows - busy, [&](int i, int bin, double part) {
    matrix(i, columns + bin) += part;
  });
  Corner row = FillInOrder(column_slack, columns - busy,
                           [&](int j, int bin, double part) { matrix(rows + bin, j) += part; });
  while (column.bin < rows - busy && row.bin < columns - busy) {
    const double part = std::min(column.room, row.room);
    matrix(rows + row.bin, columns + column.bin) = part;
    column.Take(part);
    row.Take(part);
  }
  return matrix;
}

/// The perfect matching and the time until which each of its entries lasts.
class EventMatching {
 public:
  EventMatching(SquareMatrix matrix, int rows, int columns)
      : left_(std::move(matrix)),
        size_(left_.size()),
        rows_(rows),
        columns_(columns),
        column_of_(At(size_), kNone),
        row_of_(At(size_), kNone),
        since_(At(size_), 0),
        until_(At(size_), 0),
        came_from_(At(size_), kNone),
        visited_(At(size_), 0),
        neighbours_(At(size_)),
        rotation_(At(size_), 0) {
    for (int i = 0; i < size_; ++i) {
      for (int j = 0; j < size_; ++j) {
        if (left_(i, j) > kUsedUp) neighbours_[At(i)].push_back(j);
      }
    }
  }

  /// Runs to the end of the window; false when rounding left no perfect matching well before it.
  bool Run() {
    for (int i = 0; i < size_; ++i) {
      if (!Rematch(i, FreeColumnNear(i))) return false;
    }
    while (now_ < 1 - kEndSlack && !ends_.empty()) {
      const auto [end, row] = ends_.top();
      ends_.pop();
      if (column_of_[At(row)] == kNone || end != until_[At(row)]) continue;
      now_ = std::min(1.0, end);
      if (now_ >= 1 - kEndSlack) break;
      const int column = column_of_[At(row)];
      Close(row);
      left_(row, column) = 0;
      row_of_[At(column)] = kNone;
      column_of_[At(row)] = kNone;
      if (Rematch(row, column)) continue;
      if (now_ <= 1 - kOverfull) return false;
      CloseAsMatched();
      return true;
    }
    now_ = std::min(now_, 1.0);
    for (int i = 0; i < size_; ++i) {
      if (column_of_[At(i)] != kNone) Close(i);
    }
    return true;
  }

  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  int FreeColumnNear(int row) const {
    for (const int j : neighbours_[At(row)]) {
      if (row_of_[At(j)] == kNone) return j;
    }
    for (int j = 0; j < size_; ++j) {
      if (row_of_[At(j)] == kNone) return j;
    }
    return kNone;
  }

  /// Books the time that the row's pair has run and emits its piece.
  void Close(int row) {
    const int column = column_of_[At(row)];
    double& rest = left_(row, column);
    rest -= now_ - since_[At(row)];
    if (rest < kUsedUp) rest = 0;
    if (row < rows_ && column < columns_ && now_ > since_[At(row)]) {
      pieces_.push_back({row, column, since_[At(row)], now_});
    }
  }

  /// Ends without another matching: entries too small to count were more than the end's slack. What
  /// is matched runs on, each pair for what it has left.
  void CloseAsMatched() {
    for (int i = 0; i < size_; ++i) {
      if (column_of_[At(i)] == kNone) continue;
      now_ = std::min(1.0, until_[At(i)]);
      Close(i);
    }
  }

  /// Shifts matched pairs along the path that ends in `column`, coming from the search's root.
  void Shift(int column) {
    path_.clear();
    while (column != kNone) {
      const int row = came_from_[At(column)];
      const int next = column_of_[At(row)];
      if (next != kNone) Close(row);
      column_of_[At(row)] = column;
      row_of_[At(column)] = row;
      since_[At(row)] = now_;
      path_.push_back(row);
      column = next;
    }
    for (const int row : path_) {
      until_[At(row)] = now_ + left_(row, column_of_[At(row)]);
      ends_.push({until_[At(row)], row});
    }
  }

  /// Breadth-first search from an unmatched row for an alternating path to a free column, looking
  /// ahead to `target`.
  bool Rematch(int root, int target) {
    ++stamp_;
    queue_.assign(1, root);
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const int row = queue_[head];
      if (target != kNone && left_(row, target) > kUsedUp) {
        came_from_[At(target)] = row;
        Shift(target);
        return true;
      }
      std::vector<int>& neighbours = neighbours_[At(row)];
      // Starting elsewhere each time spreads the displaced pairs.
      const std::size_t count = neighbours.size();
      if (count == 0) continue;
      std::size_t at = rotation_[At(row)] = (rotation_[At(row)] + 1) % count;
      for (std::size_t step = 0; step < count; ++step, at = at + 1 == count ? 0 : at + 1) {
        const int column = neighbours[at];
        if (visited_[At(column)] == stamp_ || column == column_of_[At(row)] ||
            left_(row, column) <= kUsedUp)
          continue;
        visited_[At(column)] = stamp_;
        came_from_[At(column)] = row;
        const int owner = row_of_[At(column)];
        if (owner == kNone) {
          Shift(column);
          return true;
        }
        if (target != kNone && left_(owner, target) > kUsedUp) {
          came_from_[At(target)] = owner;
          Shift(target);
          return true;
        }
        queue_.push_back(owner);
      }
      if (++searches_ % 256 == 0)
        std::erase_if(neighbours, [&](int j) { return left_(row, j) <= kUsedUp; });
    }
    return false;
  }

  SquareMatrix left_;
  int size_, rows_, columns_;
  std::vector<int> column_of_, row_of_;
  std::vector<double> since_, until_;
  std::vector<int> came_from_, visited_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<std::size_t> rotation_;
  std::vector<int> queue_, path_;
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>>
      ends_;
  std::vector<Piece> pieces_;
  double now_ = 0;
  int stamp_ = 0;
  std::int64_t searches_ = 0;
};

}  // namespace

double WindowNeeded(const std::vector<std::vector<double>>& send_time, std::int32_t channels) {
  double total = 0;
  double needed = 0;
  std::vector<double> column_sum(send_time.empty() ? 0 : send_time[0].size(), 0);
  for (const std::vector<double>& row : send_time) {
    double row_sum = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      row_sum += row[k];
      column_sum[k] += row[k];
    }
    needed = std::max(needed, row_sum);
    total += row_sum;
  }
  for (const double sum : column_sum) needed = std::max(needed, sum);
  return std::max(needed, total / channels);
}

absl::StatusOr<std::vector<Piece>> MatchingSchedule(
    const std::vector<std::vector<double>>& send_time, double begin, double length,
    std::int32_t channels) {
  const double needed = WindowNeeded(send_time, channels);
  if (needed <= 0) return std::vector<Piece>{};
  if (!(needed <= length * (1 + kOverfull))) {
    return absl::InternalError(
        absl::StrCat("demand needs a window of ", needed, " but has ", length));
  }
  const int rows = static_cast<int>(send_time.size());
  const int columns = static_cast<int>(send_time[0].size());
  EventMatching matching(Extend(send_time, std::max(length, needed), channels), rows, columns);
  if (!matching.Run())
    return absl::InternalError("rounding left a window without a perfect matching");
  std::vector<Piece> pieces = matching.pieces();
  for (Piece& piece : pieces) {
    piece.begin = begin + piece.begin * length;
    piece.end = begin + piece.end * length;
  }
  return pieces;
}

}  // namespace weir::planner::load
