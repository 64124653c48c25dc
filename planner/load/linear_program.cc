#include "planner/load/linear_program.h"

#include <CbcModel.hpp>
#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"

/// What LAPACK, below Clp's dense factors, calls with an argument that cannot be: its own prints by
/// Fortran's library, of which the program needs nothing else. Here, not in a file of its own, so
/// that linkers have it before they look for one in an archive.
extern "C" [[noreturn]] void xerbla_(const char* routine, const int* argument, std::size_t length) {
  std::fprintf(stderr, "LAPACK: argument %d of %.*s cannot be\n", *argument,
               static_cast<int>(length), routine);
  std::abort();
}

namespace weir::planner::load {
namespace {

// All programs are scaled to optima of about 1, so these are relative too.
constexpr double kTolerance = 1e-9;
constexpr double kSolverTolerance = 1e-11;

CoinPackedMatrix MatrixOf(const LinearProgram& program) {
  CoinPackedMatrix matrix(true, program.entry_row.data(), program.entry_column.data(),
                          program.entry_value.data(), static_cast<int>(program.entry_value.size()));
  matrix.setDimensions(program.num_rows(), program.num_columns());
  return matrix;
}

absl::Status NotOptimal(const char* solver, int status, int rows, int columns) {
  return absl::InternalError(absl::StrCat(solver, " did not prove optimality: status ", status,
                                          ", ", rows, " rows, ", columns, " columns"));
}

ProgramSolution Read(const ClpSimplex& model) {
  const double* values = model.primalColumnSolution();
  return {model.objectiveValue(), std::vector<double>(values, values + model.numberColumns())};
}

}  // namespace

int LinearProgram::AddColumn(double lower, double upper, double column_cost) {
  cost.push_back(column_cost);
  column_lower.push_back(lower);
  column_upper.push_back(upper);
  integer.push_back(false);
  return num_columns() - 1;
}

int LinearProgram::AddRow(double lower, double upper) {
  row_lower.push_back(lower);
  row_upper.push_back(upper);
  return num_rows() - 1;
}

void LinearProgram::AddEntry(int row, int column, double value) {
  entry_row.push_back(row);
  entry_column.push_back(column);
  entry_value.push_back(value);
}

absl::StatusOr<ProgramSolution> SolveLinearProgram(const LinearProgram& program) {
  ClpSimplex model;
  model.setLogLevel(0);
  model.loadProblem(MatrixOf(program), program.column_lower.data(), program.column_upper.data(),
                    program.cost.data(), program.row_lower.data(), program.row_upper.data());
  model.setPrimalTolerance(kTolerance);
  model.setDualTolerance(kTolerance);
  ClpSolve options;
  options.setSolveType(ClpSolve::useDual);
  options.setPresolveType(ClpSolve::presolveOn);
  model.initialSolve(options);
  if (model.status() != 0)
    return NotOptimal("Clp", model.status(), program.num_rows(), program.num_columns());
  return Read(model);
}

absl::StatusOr<ProgramSolution> SolveMixedProgram(const LinearProgram& program, int nodes_max) {
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  solver.loadProblem(MatrixOf(program), program.column_lower.data(), program.column_upper.data(),
                     program.cost.data(), program.row_lower.data(), program.row_upper.data());
  for (int column = 0; column < program.num_columns(); ++column) {
    if (program.integer[static_cast<std::size_t>(column)]) solver.setInteger(column);
  }
  CbcModel model(solver);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.setMaximumNodes(nodes_max);
  model.setAllowableGap(kTolerance);
  model.setIntegerTolerance(kTolerance);
  model.branchAndBound();
  if (!model.isProvenOptimal()) {
    return absl::DeadlineExceededError(absl::StrCat("Cbc did not prove optimality within ",
                                                    nodes_max, " nodes: ", program.num_rows(),
                                                    " rows, ", program.num_columns(), " columns"));
  }
  const double* values = model.bestSolution();
  return ProgramSolution{model.getObjValue(),
                         std::vector<double>(values, values + program.num_columns())};
}

struct GrowingProgram::Impl {
  ClpSimplex model;
  std::vector<int> starts{0};
  std::vector<int> columns;
  std::vector<double> values, lower, upper;
};

GrowingProgram::GrowingProgram(const LinearProgram& columns) : impl_(std::make_unique<Impl>()) {
  ClpSimplex& model = impl_->model;
  model.setLogLevel(0);
  model.loadProblem(MatrixOf(columns), columns.column_lower.data(), columns.column_upper.data(),
                    columns.cost.data(), columns.row_lower.data(), columns.row_upper.data());
  model.setPrimalTolerance(kSolverTolerance);
  model.setDualTolerance(kSolverTolerance);
}

GrowingProgram::~GrowingProgram() = default;

void GrowingProgram::AddRow(const std::vector<int>& columns, const std::vector<double>& values,
                            double lower, double upper) {
  impl_->columns.insert(impl_->columns.end(), columns.begin(), columns.end());
  impl_->values.insert(impl_->values.end(), values.begin(), values.end());
  impl_->starts.push_back(static_cast<int>(impl_->columns.size()));
  impl_->lower.push_back(lower);
  impl_->upper.push_back(upper);
}

absl::StatusOr<ProgramSolution> GrowingProgram::Solve() {
  Impl& impl = *impl_;
  if (!impl.lower.empty()) {
    impl.model.addRows(static_cast<int>(impl.lower.size()), impl.lower.data(), impl.upper.data(),
                       impl.starts.data(), impl.columns.data(), impl.values.data());
    impl.starts.assign(1, 0);
    impl.columns.clear();
    impl.values.clear();
    impl.lower.clear();
    impl.upper.clear();
  }
  impl.model.dual();
  if (impl.model.status() != 0) {
    return NotOptimal("Clp", impl.model.status(), impl.model.numberRows(),
                      impl.model.numberColumns());
  }
  return Read(impl.model);
}

}  // namespace weir::planner::load
