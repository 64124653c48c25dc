#pragma once

// The source's program given to other people's solvers, for comparison of time and optimum only.

#include <string>

#include "planner/load/linear_program.h"

namespace weir::bench {

struct ReferenceResult {
  bool optimal = false;
  double objective = 0;
};

/// Solves by lp_solve's default method; gives up after `seconds_max`.
ReferenceResult SolveByLpSolve(const planner::load::LinearProgram& program, int seconds_max);

/// Solves by GLPK's dual simplex with presolve; gives up after `seconds_max`.
ReferenceResult SolveByGlpk(const planner::load::LinearProgram& program, int seconds_max);

}  // namespace weir::bench
