#include "tests/bench/load/reference_solvers.h"

#include <glpk.h>
#include <lpsolve/lp_lib.h>

#include <utility>
#include <vector>

namespace weir::bench {
namespace {

using planner::load::kUnbounded;
using planner::load::LinearProgram;

bool Bounded(double value) { return value > -kUnbounded / 2 && value < kUnbounded / 2; }

int GlpkKind(double lower, double upper) {
  if (!Bounded(lower)) return Bounded(upper) ? GLP_UP : GLP_FR;
  if (!Bounded(upper)) return GLP_LO;
  return lower == upper ? GLP_FX : GLP_DB;
}

}  // namespace

ReferenceResult SolveByLpSolve(const LinearProgram& program, int seconds_max) {
  lprec* lp = make_lp(program.num_rows(), 0);
  set_verbose(lp, 0);
  set_timeout(lp, seconds_max);
  std::vector<std::vector<std::pair<int, double>>> columns(
      static_cast<std::size_t>(program.num_columns()));
  for (std::size_t e = 0; e < program.entry_row.size(); ++e) {
    columns[static_cast<std::size_t>(program.entry_column[e])].push_back(
        {program.entry_row[e] + 1, program.entry_value[e]});
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::vector<int> rows;
    std::vector<double> values;
    if (program.cost[c] != 0) {
      rows.push_back(0);
      values.push_back(program.cost[c]);
    }
    for (const auto& [row, value] : columns[c]) {
      rows.push_back(row);
      values.push_back(value);
    }
    add_columnex(lp, static_cast<int>(rows.size()), values.data(), rows.data());
    const int column = static_cast<int>(c) + 1;
    if (program.column_lower[c] != 0) set_lowbo(lp, column, program.column_lower[c]);
    if (Bounded(program.column_upper[c])) set_upbo(lp, column, program.column_upper[c]);
  }
  for (int row = 0; row < program.num_rows(); ++row) {
    const double lower = program.row_lower[static_cast<std::size_t>(row)];
    const double upper = program.row_upper[static_cast<std::size_t>(row)];
    const bool has_lower = Bounded(lower);
    set_constr_type(lp, row + 1, lower == upper ? EQ : has_lower ? GE : LE);
    set_rh(lp, row + 1, has_lower ? lower : upper);
  }
  const int status = solve(lp);
  const ReferenceResult result{status == OPTIMAL, get_objective(lp)};
  delete_lp(lp);
  return result;
}

ReferenceResult SolveByGlpk(const LinearProgram& program, int seconds_max) {
  glp_term_out(GLP_OFF);
  glp_prob* lp = glp_create_prob();
  glp_set_obj_dir(lp, GLP_MIN);
  glp_add_rows(lp, program.num_rows());
  glp_add_cols(lp, program.num_columns());
  for (int c = 0; c < program.num_columns(); ++c) {
    const auto at = static_cast<std::size_t>(c);
    glp_set_obj_coef(lp, c + 1, program.cost[at]);
    glp_set_col_bnds(lp, c + 1, GlpkKind(program.column_lower[at], program.column_upper[at]),
                     program.column_lower[at], program.column_upper[at]);
  }
  for (int row = 0; row < program.num_rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    glp_set_row_bnds(lp, row + 1, GlpkKind(program.row_lower[at], program.row_upper[at]),
                     program.row_lower[at], program.row_upper[at]);
  }
  std::vector<int> rows{0}, columns{0};
  std::vector<double> values{0};
  for (std::size_t e = 0; e < program.entry_row.size(); ++e) {
    rows.push_back(program.entry_row[e] + 1);
    columns.push_back(program.entry_column[e] + 1);
    values.push_back(program.entry_value[e]);
  }
  glp_load_matrix(lp, static_cast<int>(values.size()) - 1, rows.data(), columns.data(),
                  values.data());
  glp_smcp options;
  glp_init_smcp(&options);
  options.meth = GLP_DUALP;
  options.presolve = GLP_ON;
  options.tm_lim = seconds_max * 1000;
  options.msg_lev = GLP_MSG_OFF;
  const int code = glp_simplex(lp, &options);
  const ReferenceResult result{code == 0 && glp_get_status(lp) == GLP_OPT, glp_get_obj_val(lp)};
  glp_delete_prob(lp);
  return result;
}

}  // namespace weir::bench
