#pragma once

// The course of a sample: which step a worker runs next, and what the steps say of the job. Pure.
// Upstream: SampleRun feeds results and time. Downstream: SampleRun sends the orders.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/master/planning/sample_design.h"
#include "weir/v1/journal.pb.h"
#include "weir/v1/steps.pb.h"

namespace weir::master {

/// What the numbers of a sample are read against.
struct SampleScale {
  int num_layers = 1;
  /// Rate of each worker, as the planner will see it.
  std::vector<double> compute_rates;
  /// What a step takes whatever its size, until something better is known.
  double map_overhead_s = 0;
  double reduce_overhead_s = 0;
  /// Slots of each worker.
  std::vector<int> slots;
  /// Files that a slot opens in a map step of the job, about.
  double files_per_slot = 1;
};

/// Files that each of `slots` opens, about, when `files` are cut into so many equal pieces.
inline double FilesPerSlot(double files, double slots) { return (files + slots - 1) / slots; }

struct SampleOrder {
  std::size_t worker = 0;
  v1::StepOrder order;
};

/// Runs rounds, each on all workers at once, so that what they share (cores, disks) is in the
/// times: map the tiny sample, the small and the large one, then reduce the runs of the tiny and of
/// the large one, each worker its own, layer by layer. Nothing moves between workers.
///
/// Model: a map of x bytes in f files a slot takes o + f s + A x / rate and makes c x^beta bytes
///   (block headers aside); beta and A from the difference of the small and the large sample.
///   A reduce takes s + a y / rate. Jobs start things anew for each file or step, s: processes, for
///   example. Where the tiny sample took at least kStartTells times as long as steps of this size
///   usually do, s and A of the maps are fitted to all three sizes, and s of a reduce is what its
///   tiny one took.
///   Keys: the small sample counts in kBuckets even buckets; unless they are as even as chance
///   makes them, the large one counts in buckets that divide where the weight is. A number that the
///   sample is too small to tell is left out.
/// Thread-safety: none. Time: passed in, seconds.
/// Checked by: tests/unit/master/sample_test.cc, tests/sim.
class SampleMachine {
 public:
  static constexpr int kBuckets = 256;
  static constexpr double kStartTells = 3;

  SampleMachine(SampleDesign design, SampleScale scale);

  /// Orders of the first round. Call once, first.
  std::vector<SampleOrder> Begin(double now_s);
  /// Returns the next orders once the last step of a round is done.
  /// Errors: kAborted for a step that is not under way; kInternal for a result without its run.
  absl::StatusOr<std::vector<SampleOrder>> StepDone(const v1::StepResult& result, double now_s);
  bool finished() const { return round_ >= num_rounds_; }
  bool under_way(int step) const;

  /// What the job looks like. Requires: finished().
  v1::JobShapeLearned Shape() const;
  /// What can be told of it already: how fast the small sample was mapped, if it was.
  std::optional<v1::JobShapeLearned> ShapeSoFar() const;

 private:
  struct Seen {
    double began_s = 0;
    double seconds = 0;
    double input_bytes = 0;   // as the plan counts them
    double files_a_slot = 0;  // of map steps
    double output_bytes = 0;  // without block headers
    v1::RunInfo run;
    bool done = false;
  };
  using Round = std::vector<Seen>;

  std::vector<SampleOrder> StartRound(double now_s);
  v1::StepOrder BuildOrder(std::size_t worker) const;
  void ChooseBuckets();
  double TinySeconds(std::size_t tiny_round) const;
  double MapStart() const;
  void FitMap(v1::JobShapeLearned& shape) const;
  void FitMapWithStart(v1::JobShapeLearned& shape) const;
  void FitLayer(int layer, v1::JobShapeLearned& shape) const;
  void WeighKeys(v1::JobShapeLearned::Layer& layer) const;
  /// Sum over a round of what `of` says of a worker's step.
  template <typename Of>
  double Sum(std::size_t round, Of of) const;

  const SampleDesign design_;
  const SampleScale scale_;
  const std::size_t num_workers_;
  const std::size_t num_rounds_;
  std::vector<Round> rounds_;
  std::size_t round_ = 0;
  std::vector<double> key_ends_;  // of the large sample's buckets
  bool uneven_ = false;
};

}  // namespace weir::master
