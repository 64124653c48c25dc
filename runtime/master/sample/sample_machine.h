#pragma once

// The course of a sample: which step a worker runs next, and what the steps say of the job. Pure.
// Upstream: SampleRun feeds results and time. Downstream: SampleRun sends the orders.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/master/learning/key_growth.h"
#include "runtime/master/sample/layer_keys.h"
#include "runtime/master/sample/map_cost.h"
#include "runtime/master/sample/sample_design.h"
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
  /// Mappers combine the values of a key.
  bool combines = false;
  /// What a sample saw of the data of a similar job, which is known. Of a job that does not
  /// combine, data alike needs no more than the small sample.
  std::optional<v1::JobShapeLearned::DataSeen> known;
  /// Of the whole job; 0 = not known.
  double input_bytes = 0;
  /// Of each worker, slots that share a core while all of them work, or one over the part of a core
  /// that a quota leaves: steps of a sample may be over before another has its turn, or the quota
  /// is used up. >= 1.
  std::vector<double> slots_a_core;
  /// The input can be cut anywhere, so that chunks may follow what its parts cost.
  bool cut_anywhere = false;
  /// Workers hand runs over, so that none is worth packing.
  bool same_host = false;
  /// Of the job; 0 = one a worker.
  int num_mappers = 0;
};

/// Files that each of `slots` opens, about, when `files` are cut into so many equal pieces.
inline double FilesPerSlot(double files, double slots) { return (files + slots - 1) / slots; }

struct SampleOrder {
  std::size_t worker = 0;
  v1::StepOrder order;
};

/// Runs rounds, each on all workers at once, so that what they share (cores, disks) is in the
/// times: map the tiny sample, the small one, and the large one; where keys come again in it, as
/// much as the small one from few places, once more and several times over; then reduce the runs of
/// the tiny and of the large one, each worker its own, layer by layer. Nothing moves between
/// workers.
///
/// Model: a map of x bytes in f files a slot takes o + f s + A x / rate + B y / rate and makes
///   y = c x^beta bytes (block headers aside); beta from the small and the large sample, A and B as
///   FitMapCost says or, where the keys are all there, FitMapCostOfKnownKeys, of the mean worker:
///   chunks are then cut by what parts of the input cost (JobShapeLearned.input_weights); where the
///   parts are nearly alike or cannot be cut, of the worker whose part costs most. Fitted is
///   processor time beyond what a reduce of next to nothing takes, where workers report it: how
///   long steps of ten milliseconds take is chance. Stretch says what of the time beside it counts.
///   Without it, time is fitted in which processors were not others' (StepResult.waited_s), which
///   counts evenly. Where all parts of the input have as many records a byte, and few places as
///   many keys as many, growth beyond the sample is that of the keys' law (KeyLaw), where few
///   places have far less, that of LocalKeys; how few keys later layers leave says LeftOfLayers. A
///   reduce takes s + a y / rate. Jobs start things anew for each file or step, s: processes, for
///   example. Where the tiny sample took at least kStartTells times as long as steps of this size
///   usually do, s and A of the maps are fitted to all three sizes, and s of a reduce is what its
///   tiny one took. Else o of the maps is what the tiny one took, and what BeginningsOfSteps says
///   where nothing is combined. Parts are written back while they are written, so that closing one
///   takes about as long for any size: reduces of the last layer take what their tiny one took and
///   that of the large one beside it. Keys: the small sample counts in kBuckets even buckets;
///   unless they are as even as chance makes them, the large one counts in buckets that divide
///   where the weight is. A number that the sample is too small to tell is left out.
/// Thread-safety: none. Time: passed in, seconds.
/// Checked by: tests/unit/master/sample_test.cc, tests/sim.
class SampleMachine {
 public:
  static constexpr int kBuckets = 256;
  /// Equal parts of the keys, by which data is compared.
  static constexpr int kKeyShares = 16;
  static constexpr double kStartTells = 3;
  /// An overhead that is no more than so many times the usual is the usual one.
  static constexpr double kTellingOverhead = 1.1;
  /// By processor time, which nobody else's load adds to, so many overheads tell a rate.
  static constexpr double kTellingCpu = 0.5;

  SampleMachine(SampleDesign design, SampleScale scale);

  /// Orders of the first round. Call once, first.
  std::vector<SampleOrder> Begin(double now_s);
  /// Returns the next orders once the last step of a round is done.
  /// Errors: kAborted for a step that is not under way; kInternal for a result without its run.
  absl::StatusOr<std::vector<SampleOrder>> StepDone(const v1::StepResult& result, double now_s);
  bool finished() const { return round_ >= num_rounds_; }
  bool under_way(int step) const;
  /// Of the job that the sample is of.
  double job_input_bytes() const { return scale_.input_bytes; }

  /// The data is what is known already (SampleScale::known): the shape then has nothing but what
  /// was seen. Requires: finished().
  bool alike() const { return alike_; }
  /// What the job looks like. Requires: finished().
  v1::JobShapeLearned Shape() const;
  /// What can be told of it already: how fast the small sample was mapped, if it was.
  std::optional<v1::JobShapeLearned> ShapeSoFar() const;

 private:
  struct Seen {
    double began_s = 0;
    double seconds = 0;       // without those for which others had the processors
    double waited_s = 0;      // those, for a slot
    double ran_s = 0;         // with those, as the worker measured
    double closing_s = 0;     // of the part, in none of these
    double cpu_s = 0;         // of processors, for a slot; 0 = not known
    double input_bytes = 0;   // as the plan counts them
    double files_a_slot = 0;  // of map steps
    double output_bytes = 0;  // without block headers
    // Records that a step read, of maps that their map made; and what was left of them.
    KeyCount keys;
    v1::RunInfo run;
    bool done = false;
  };
  using Round = std::vector<Seen>;

  static constexpr std::size_t kTinyRound = 0;
  static constexpr std::size_t kSmallRound = 1;
  static constexpr std::size_t kLargeRound = 2;
  // The small sample once more, in memory that the process has by then, and several times over.
  static constexpr std::size_t kOnceMoreRound = 3;
  static constexpr std::size_t kAgainRound = 4;
  // Of each layer two: the tiny sample's run, and the large one's.
  static constexpr std::size_t kFirstReduceRound = 5;
  static constexpr std::size_t kRoundsALayer = 2;

  /// 1 and up.
  static int LayerOf(std::size_t round);
  static bool IsTiny(std::size_t round);
  /// Whose runs say what codecs make of them.
  static bool TellsOfCodecs(std::size_t round);
  /// That made what a reduce round reads.
  static std::size_t RoundBefore(std::size_t round);

  std::vector<SampleOrder> StartRound(double now_s);
  void TakeTimes(const v1::StepResult& result, int slots, double now_s, Seen& seen) const;
  /// What other load, and the workers' own on fewer processors, made of all the sample's seconds.
  double SlowedBy() const;
  /// Whether each step said what it took of the processors.
  bool KnowsCpu() const;
  /// The step's bytes in seconds of a unit worker, as processor time counts them: what slots that
  /// share a core take from each other, or a quota from them, is in the worker's rate, but not in
  /// its processor time.
  double ProcessorWork(double bytes, std::size_t worker) const;
  /// Processor time of a step that does next to nothing: the least of the tiny ones.
  double FloorCpu() const;
  /// What such a step takes beside its processor time.
  double IdleOfTiny(std::size_t tiny_round) const;
  /// What load beside what is known (SampleScale::slots_a_core) made of the seconds of the middle
  /// step, but for those in which processes start: load that lasts is in all steps, a lump in few.
  double OthersLoad() const;
  /// How many times their processor time steps of the round take, for the job's steps of the kind:
  /// others' load, and a part (kOwnStretch) of what all of them waited for beyond that, as disks.
  double Stretch(std::size_t round) const;
  /// Whether hardly a key of the round came twice.
  bool MostlyNew(std::size_t round) const;
  /// Whether reading the small sample again and again shows what finding keys again costs.
  bool AgainTells() const;
  /// Whether the large sample has no more keys than the small one that was read once more.
  bool KnowsAllKeys() const;
  /// What finding a key costs the job, to what it costs the sample.
  double FoundLater() const;
  v1::StepOrder BuildOrder(std::size_t worker) const;
  /// Of a reduce that reads what the worker's step of the round `before` made.
  void AddInputs(std::size_t before, std::size_t worker, v1::StepOrder& order) const;
  void ChooseBuckets();
  /// Of a step of the tiny sample: the least of all workers, because what else goes on there only
  /// adds to it. 0: there was none.
  double LeastOfTiny(std::size_t tiny_round, double Seen::*number) const;
  /// What such a step took beyond its work and the usual, where it starts something.
  double TinyBeyondUsual(std::size_t tiny_round, double work_s, double usual_s) const;
  /// What a start may have taken, at most, of steps that took so long together.
  static double StartAtMost(double seconds, double overhead_s, double starts);
  double MapStart() const;
  void FitMap(v1::JobShapeLearned& shape) const;
  void FitMapRate(v1::JobShapeLearned& shape) const;
  /// What so many bytes of pairs, of all steps of the large round or of the reduces behind it,
  /// would have cost more in steps of the job: seconds of all of them together. 0 where keys are
  /// combined, and where runs refer to records: what is sorted is small then.
  double PairsBeyondCaches(double pairs) const;
  bool RefersToInput() const;
  /// What a map step takes beyond its bytes because it is the first of its process, as the only one
  /// of a job is: by the tiny sample, at least the usual and less than what starts something.
  double FirstMapStep(double seconds_per_byte) const;
  /// What a worker's part of the input takes, to the mean: of input, of output, and together.
  struct PartOfInput {
    double of_input = 1;
    double of_output = 1;
    double weight = 1;
  };
  /// Of the workers, each of which read its own part; none where keys are not combined, whose time
  /// says enough.
  std::vector<PartOfInput> PartsOfInput(const MapCost& cost) const;
  static bool CostAlike(const std::vector<PartOfInput>& parts);
  void FitMapWithStart(v1::JobShapeLearned& shape) const;
  void FitKeys(v1::JobShapeLearned& shape) const;
  /// Of the mean worker that had any input.
  KeyCount MeanKeys(std::size_t round) const;
  /// Whether records may be independent draws: all parts of the sample have as many a byte.
  bool LooksIndependent() const;
  /// Mean size of a record that the steps of the round made, with its lengths; 0 of none.
  double RecordBytes(std::size_t round) const;
  /// What the first layer of the whole job reads, by what is known of its maps.
  FirstLayerInput FirstLayer(const v1::JobShapeLearned& shape) const;
  void FitLayers(v1::JobShapeLearned& shape) const;
  void FitLayer(int layer, const LayerLeft& left, v1::JobShapeLearned& shape) const;
  /// What a reduce step starts beyond the usual, by the tiny round of its layer and the large one
  /// behind that; 0: nothing that shows.
  double ReduceStart(std::size_t tiny_round) const;
  /// What a reduce step that writes a part takes beyond its bytes; 0: the rounds make no parts.
  double ClosingStep(std::size_t tiny_round) const;
  /// Seconds a byte of a unit worker; none where the round was too short to tell. `start_s`: of
  /// each step, beyond the usual.
  /// `beyond_s`: what the round would have taken more in the job.
  std::optional<double> ReduceRate(std::size_t round, double start_s, double beyond_s) const;
  double SecondsOf(std::size_t round) const;
  /// The round's input in seconds of a unit worker.
  double WorkOf(std::size_t round) const;
  /// Of the small sample.
  v1::JobShapeLearned::DataSeen DataSeen() const;
  /// The part of the small sample's bytes in each of kKeyShares; none where it made nothing.
  std::vector<double> KeyShares() const;
  void WeighKeys(v1::JobShapeLearned::Layer& layer) const;
  /// Sum over a round of what `of` says of a worker's step.
  template <typename Of>
  double Sum(std::size_t round, Of of) const {
    double sum = 0;
    for (std::size_t w = 0; w < num_workers_; ++w) sum += of(rounds_[round][w], w);
    return sum;
  }

  const SampleDesign design_;
  const SampleScale scale_;
  const std::size_t num_workers_;
  const std::size_t num_rounds_;
  std::vector<Round> rounds_;
  std::size_t round_ = 0;
  std::vector<double> key_ends_;  // of the large sample's buckets
  bool uneven_ = false;
  bool alike_ = false;
};

}  // namespace weir::master
