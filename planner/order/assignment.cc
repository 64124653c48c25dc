#include "planner/order/assignment.h"

#include <algorithm>
#include <limits>

namespace weir::planner {

const std::vector<std::int32_t>& Assignment::Solve(const std::vector<std::vector<double>>& weight) {
  const std::size_t rows = weight.size();
  const std::size_t columns = rows == 0 ? 0 : weight[0].size();
  const std::size_t n = std::max(rows, columns);
  row_price_.assign(n + 1, 0);
  column_price_.assign(n + 1, 0);
  row_of_.assign(n + 1, 0);
  came_from_.assign(n + 1, 0);
  for (std::size_t row = 1; row <= n; ++row) {
    row_of_[0] = row;
    std::size_t column = 0;
    least_.assign(n + 1, std::numeric_limits<double>::infinity());
    used_.assign(n + 1, 0);
    do {
      used_[column] = 1;
      const std::size_t at_row = row_of_[column];
      const double price = row_price_[at_row];
      // Costs of the square problem; what is not there costs nothing, like staying idle.
      const std::size_t priced = at_row <= rows ? columns : 0;
      double delta = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (used_[j] != 0) continue;
        const double cost = j <= priced ? -std::max(0.0, weight[at_row - 1][j - 1]) : 0.0;
        const double reduced = cost - price - column_price_[j];
        if (reduced < least_[j]) {
          least_[j] = reduced;
          came_from_[j] = column;
        }
        if (least_[j] < delta) {
          delta = least_[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (used_[j] != 0) {
          row_price_[row_of_[j]] += delta;
          column_price_[j] -= delta;
        } else {
          least_[j] -= delta;
        }
      }
      column = next;
    } while (row_of_[column] != 0);
    while (column != 0) {
      row_of_[column] = row_of_[came_from_[column]];
      column = came_from_[column];
    }
  }
  column_of_.assign(rows, -1);
  for (std::size_t j = 1; j <= columns; ++j) {
    const std::size_t row = row_of_[j] - 1;
    if (row < rows && weight[row][j - 1] > 0) column_of_[row] = static_cast<std::int32_t>(j - 1);
  }
  return column_of_;
}

}  // namespace weir::planner
