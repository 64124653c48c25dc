#include "planner/order/assignment.h"

#include <algorithm>
#include <limits>

namespace weir::planner {

std::vector<std::int32_t> MaxWeightAssignment(const std::vector<std::vector<double>>& weight) {
  const std::size_t rows = weight.size();
  const std::size_t columns = rows == 0 ? 0 : weight[0].size();
  const std::size_t n = std::max(rows, columns);
  // Costs of the square problem; what is not there costs nothing, like staying idle.
  const auto cost = [&](std::size_t row, std::size_t column) {
    if (row >= rows || column >= columns) return 0.0;
    return -std::max(0.0, weight[row][column]);
  };
  // Row and column 0 stand for "none" while a path is searched.
  std::vector<double> row_price(n + 1, 0), column_price(n + 1, 0);
  std::vector<std::size_t> row_of(n + 1, 0), came_from(n + 1, 0);
  std::vector<double> least;
  std::vector<char> used;  // as bool; vector<bool> is slower
  for (std::size_t row = 1; row <= n; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    least.assign(n + 1, std::numeric_limits<double>::infinity());
    used.assign(n + 1, 0);
    do {
      used[column] = 1;
      const std::size_t at_row = row_of[column];
      double delta = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (used[j] != 0) continue;
        const double reduced = cost(at_row - 1, j - 1) - row_price[at_row] - column_price[j];
        if (reduced < least[j]) {
          least[j] = reduced;
          came_from[j] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (used[j] != 0) {
          row_price[row_of[j]] += delta;
          column_price[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    while (column != 0) {
      row_of[column] = row_of[came_from[column]];
      column = came_from[column];
    }
  }
  std::vector<std::int32_t> column_of(rows, -1);
  for (std::size_t j = 1; j <= columns; ++j) {
    const std::size_t row = row_of[j] - 1;
    if (row < rows && weight[row][j - 1] > 0) column_of[row] = static_cast<std::int32_t>(j - 1);
  }
  return column_of;
}

}  // namespace weir::planner
