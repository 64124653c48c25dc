#include "planner/load/source_program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"

namespace weir::planner::load {
namespace {

constexpr int kOrderNodesMax = 200000;

/// Column numbers of x_j, t_i and beta_ijk. A beta row of -1 has no columns: (6), (16).
struct Columns {
  std::vector<int> load;
  std::vector<int> finish;
  std::vector<std::vector<int>> first_beta;
};

Columns AddColumns(const ScaledLayer& layer, bool free_order, LinearProgram& program) {
  Columns columns;
  for (int j = 0; j < layer.n; ++j) columns.load.push_back(program.AddColumn(0, kUnbounded, 0));
  for (int i = 0; i <= layer.n; ++i) {
    columns.finish.push_back(program.AddColumn(0, kUnbounded, i == layer.n ? 1 : 0));  // (1), (10)
  }
  columns.first_beta.assign(At(layer.n), std::vector<int>(At(layer.n), -1));
  for (int i = 0; i < layer.n; ++i) {
    for (int j = 0; j < (free_order ? layer.n : i + 1); ++j) {
      columns.first_beta[At(i)][At(j)] = program.num_columns();
      for (int k = 0; k < layer.r; ++k) program.AddColumn(0, kUnbounded, 0);
    }
  }
  return columns;
}

/// Adds scale * (t_{i+1} - t_i) >= sum of the entries the caller then adds with -1.
int AddIntervalRow(const Columns& columns, int i, double scale, LinearProgram& program) {
  const int row = program.AddRow(0, kUnbounded);
  program.AddEntry(row, columns.finish[At(i + 1)], scale);
  program.AddEntry(row, columns.finish[At(i)], -scale);
  return row;
}

/// (3)-(5) = (13)-(15): one receive, one send a port, at most l channels; (7) = (17): all is sent;
/// (8) = (18).
void AddCommunication(const ScaledLayer& layer, const Columns& columns, LinearProgram& program) {
  for (int i = 0; i < layer.n; ++i) {
    const std::vector<int>& beta = columns.first_beta[At(i)];
    for (int k = 0; k < layer.r; ++k) {  // (3), (13)
      const int row = AddIntervalRow(columns, i, 1, program);
      for (int j = 0; j < layer.n; ++j) {
        if (beta[At(j)] >= 0) program.AddEntry(row, beta[At(j)] + k, -1);
      }
    }
    for (int j = 0; j < layer.n; ++j) {  // (4), (14)
      if (beta[At(j)] < 0) continue;
      const int row = AddIntervalRow(columns, i, 1, program);
      for (int k = 0; k < layer.r; ++k) program.AddEntry(row, beta[At(j)] + k, -1);
    }
    const int row = AddIntervalRow(columns, i, layer.l, program);  // (5), (15)
    for (int j = 0; j < layer.n; ++j) {
      for (int k = 0; k < layer.r && beta[At(j)] >= 0; ++k)
        program.AddEntry(row, beta[At(j)] + k, -1);
    }
  }
  for (int j = 0; j < layer.n; ++j) {
    for (int k = 0; k < layer.r; ++k) {  // (7), (17)
      const int row = program.AddRow(0, 0);
      program.AddEntry(row, columns.load[At(j)], -layer.send_all * layer.fractions[At(k)]);
      for (int i = 0; i < layer.n; ++i) {
        if (columns.first_beta[At(i)][At(j)] >= 0)
          program.AddEntry(row, columns.first_beta[At(i)][At(j)] + k, 1);
      }
    }
  }
  const int total = program.AddRow(1, 1);  // (8), (18)
  for (int j = 0; j < layer.n; ++j) program.AddEntry(total, columns.load[At(j)], 1);
}

SourceSolution Read(const ScaledLayer& layer, const Columns& columns,
                    const ProgramSolution& values) {
  SourceSolution solution;
  for (const int column : columns.load)
    solution.loads.share.push_back(std::max(0.0, values.values[At(column)]));
  for (const int column : columns.finish) solution.finish.push_back(values.values[At(column)]);
  for (int i = 0; i < layer.n; ++i) {
    IntervalTransfers interval{
        solution.finish[At(i)], solution.finish[At(i + 1)],
        std::vector<std::vector<double>>(At(layer.n), std::vector<double>(At(layer.r), 0))};
    for (int j = 0; j < layer.n; ++j) {
      const int first = columns.first_beta[At(i)][At(j)];
      for (int k = 0; k < layer.r && first >= 0; ++k) {
        interval.send_time[At(j)][At(k)] = std::max(0.0, values.values[At(first + k)]);
      }
    }
    solution.intervals.push_back(std::move(interval));
    solution.order.push_back(i + 1);
  }
  solution.loads.time = values.objective;
  solution.loads.bound = values.objective;
  solution.loads.rule = LoadRule::kSourceProgram;
  return solution;
}

absl::Status CheckSize(const ScaledLayer& layer) {
  if (layer.compute.smooth()) {
    return absl::InvalidArgumentError(
        "the source's program needs a piecewise linear compute function (9); use chords instead of "
        "the n log n curve");
  }
  const std::int64_t size = static_cast<std::int64_t>(layer.n) * layer.n * layer.r;
  if (size > kSourceProgramSizeMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the source's program has n * n * r = ", size, " transfer variables; limit ",
                     kSourceProgramSizeMax, " (use the fast or exact method)"));
  }
  return absl::OkStatus();
}

}  // namespace

LinearProgram BuildSourceProgram(const ScaledLayer& layer) {
  LinearProgram program;
  const Columns columns = AddColumns(layer, /*free_order=*/false, program);
  for (int j = 0; j < layer.n; ++j) {
    if (layer.kind == LayerKind::kMapper) {  // (11), (12) with z_ij = 1 for j <= i
      const double start = layer.FinishTime(j, 0);
      const int row = program.AddRow(start, start);
      program.AddEntry(row, columns.finish[At(j)], 1);
      program.AddEntry(row, columns.load[At(j)], -layer.compute.lines()[0].slope);
      continue;
    }
    for (const ComputeFunction::Line& line : layer.compute.lines()) {  // (9)
      const int row = program.AddRow(line.intercept, kUnbounded);
      program.AddEntry(row, columns.finish[At(j)], 1);
      program.AddEntry(row, columns.load[At(j)], -line.slope);
    }
  }
  AddCommunication(layer, columns, program);
  return program;
}

LinearProgram BuildFreeOrderProgram(const ScaledLayer& layer) {
  LinearProgram program;
  const Columns columns = AddColumns(layer, /*free_order=*/true, program);
  const int n = layer.n;
  const int first_z = program.num_columns();
  for (int z = 0; z < n * n; ++z) {  // (21)
    program.integer[At(program.AddColumn(0, 1, 0))] = true;
  }
  const auto z_column = [&](int i, int j) { return first_z + i * n + j; };
  const double rate = layer.compute.lines()[0].slope;
  const double big = 2 * (n * layer.startup + rate + layer.send_all);
  for (int i = 0; i < n; ++i) {
    const int count = program.AddRow(i + 1, i + 1);  // (20)
    for (int j = 0; j < n; ++j) {
      const double start = layer.FinishTime(j, 0);
      const int not_before = program.AddRow(-start, kUnbounded);       // (11)
      const int not_after = program.AddRow(-kUnbounded, big - start);  // (12)
      for (const int row : {not_before, not_after}) {
        program.AddEntry(row, columns.load[At(j)], rate);
        program.AddEntry(row, columns.finish[At(i)], -1);
        program.AddEntry(row, z_column(i, j), big);
      }
      for (int k = 0; k < layer.r; ++k) {  // (16)
        const int row = program.AddRow(-kUnbounded, 0);
        program.AddEntry(row, columns.first_beta[At(i)][At(j)] + k, 1);
        program.AddEntry(row, z_column(i, j), -layer.send_all);
      }
      if (i + 1 < n) {  // (19)
        const int row = program.AddRow(0, kUnbounded);
        program.AddEntry(row, z_column(i + 1, j), 1);
        program.AddEntry(row, z_column(i, j), -1);
      }
      program.AddEntry(count, z_column(i, j), 1);
    }
  }
  AddCommunication(layer, columns, program);
  return program;
}

absl::StatusOr<SourceSolution> SolveSourceProgram(const ScaledLayer& layer) {
  if (absl::Status status = CheckSize(layer); !status.ok()) return status;
  const absl::StatusOr<ProgramSolution> values = SolveLinearProgram(BuildSourceProgram(layer));
  if (!values.ok()) return values.status();
  LinearProgram numbering;
  return Read(layer, AddColumns(layer, false, numbering), *values);
}

absl::StatusOr<SourceSolution> SolveFreeOrderProgram(const ScaledLayer& layer) {
  if (layer.kind != LayerKind::kMapper) {
    return absl::InvalidArgumentError(
        "free finishing order is a question of mapper layers; this is a reducer layer");
  }
  if (layer.n > kFreeOrderMappersMax) {
    return absl::ResourceExhaustedError(absl::StrCat("free finishing order for ", layer.n,
                                                     " mappers; limit ", kFreeOrderMappersMax));
  }
  if (absl::Status status = CheckSize(layer); !status.ok()) return status;
  const absl::StatusOr<ProgramSolution> values =
      SolveMixedProgram(BuildFreeOrderProgram(layer), kOrderNodesMax);
  if (!values.ok()) return values.status();
  LinearProgram numbering;
  const Columns columns = AddColumns(layer, true, numbering);
  SourceSolution solution = Read(layer, columns, *values);
  const int first_z = numbering.num_columns();
  for (int i = 0; i < layer.n; ++i) {
    for (int j = 0; j < layer.n; ++j) {
      const bool now = values->values[At(first_z + i * layer.n + j)] > 0.5;
      const bool before = i > 0 && values->values[At(first_z + (i - 1) * layer.n + j)] > 0.5;
      if (now && !before) solution.order[At(i)] = j + 1;
    }
  }
  return solution;
}

ProgramSize MapperProgramSize(std::int64_t m, std::int64_t r) {
  return {m * m * r + 2 * m + 1, m * m, m * m * r + 4 * m * m + 2 * m * r + m + 1};
}

ProgramSize ReducerProgramSize(std::int64_t senders, std::int64_t receivers, double load_bytes) {
  const std::int64_t lines = static_cast<std::int64_t>(std::floor(std::log2(load_bytes)));
  return {senders * senders * receivers + 2 * senders + 1, 0,
          (receivers * senders * senders + senders * (3 * receivers + senders) + 5 * senders) / 2 +
              1 + senders * lines};
}

}  // namespace weir::planner::load
