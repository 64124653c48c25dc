#pragma once

// What simulated runs stand for: which bytes of the input each place of a section was made of, in
// which order. Sized files carry no values; this says whether a result would be right. Upstream:
// SimTask. Downstream: checkers.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/sim/virtual_time.h"

namespace weir::sim {

/// A piece of one input file.
struct InputPiece {
  std::string path;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const InputPiece&, const InputPiece&) = default;
  friend auto operator<=>(const InputPiece&, const InputPiece&) = default;
};

/// Places [begin, end) of the unit interval, each made of `input`, left to right.
struct ContentPiece {
  double begin = 0;
  double end = 0;
  std::vector<InputPiece> input;
};

/// Pieces by rising places.
using Content = std::vector<ContentPiece>;

/// Adds a piece behind others; what continues the last one makes that longer.
void AppendInput(const InputPiece& piece, std::vector<InputPiece>& input);

/// Folds in the order given: where several have a place, their input follows one another.
Content Fold(const std::vector<const Content*>& operands);

/// What of it lies in [begin, end).
Content Cut(const Content& content, double begin, double end);

/// Sum of the lengths of its pieces.
double LengthOf(const Content& content);

/// One plan of a job, by master epoch and plan epoch: a job that lost a worker has several, and
/// another master counts anew.
using PlanOfJob = std::tuple<std::string, std::int64_t, std::int64_t>;

/// All places of a layer as input of the next one, whose keys have nothing to do with them.
inline constexpr std::int64_t kLayerPlaces = std::int64_t{1} << 52;
std::string NameOfLayer(int layer);
/// What a reducer of `layer` makes of `content` for the layer behind it: each of its places has
/// something for every key there.
Content Emitted(const Content& content, int layer);

/// One attempt at a step: master epoch, plan epoch, step, attempt.
using PartKey = std::tuple<std::int64_t, std::int64_t, int, int>;

/// Contents of sections of all jobs, and of the parts made of them.
class Contents {
 public:
  void Put(const PlanOfJob& plan, const std::string& run, int consumer, Content content) {
    sections_[{plan, run, consumer}] = std::move(content);
  }
  /// The runs of a plan are part of another one, which goes on with it.
  void GoOn(const PlanOfJob& from, const PlanOfJob& to);
  /// Null where nobody knows.
  const Content* Find(const PlanOfJob& plan, const std::string& run, int consumer) const {
    const auto found = sections_.find({plan, run, consumer});
    return found == sections_.end() ? nullptr : &found->second;
  }
  /// Of the last attempt at part `index`.
  void PutPart(const std::string& job, const PartKey& key, int index, Content content) {
    parts_[{job, std::get<0>(key), std::get<1>(key)}][index] = content;
    attempts_[job][key] = std::move(content);
  }
  /// A reducer of `layer` has run.
  void NoteLayer(const std::string& job, int layer) {
    layers_[job] = std::max(layers_[job], layer);
  }
  /// Each run that is made from now on is damaged with probability `share`: whoever reads it finds
  /// that out.
  void SetDamage(double share) { damage_share_ = share; }
  void MayDamage(const PlanOfJob& plan, const std::string& run, SeededRandom& random) {
    if (damage_share_ > 0 && random.Chance(damage_share_)) damaged_.emplace(plan, run);
  }
  /// Says whether a run is damaged, and counts it.
  bool FindDamage(const PlanOfJob& plan, const std::string& run) {
    const bool found = damaged_.contains({plan, run});
    damage_found_ += found ? 1 : 0;
    return found;
  }
  /// What a reader has received is damaged on its own disk with probability `share`, the first time
  /// it reads it.
  void SetReceivedDamage(double share) { received_damage_share_ = share; }
  bool FindReceivedDamage(const PlanOfJob& plan, const std::string& run, int reader,
                          SeededRandom& random) {
    if (received_damage_share_ <= 0 || !read_.emplace(plan, run, reader).second) return false;
    const bool found = random.Chance(received_damage_share_);
    damage_found_ += found ? 1 : 0;
    return found;
  }
  std::int64_t damage_found() const { return damage_found_; }
  /// Places of the parts that these attempts made, by rising places.
  Content CommittedParts(const std::string& job, const std::set<PartKey>& committed) const;
  /// Layers of a job, as its reducers tell.
  int LayersOf(const std::string& job) const {
    const auto found = layers_.find(job);
    return found == layers_.end() ? 0 : found->second;
  }
  /// All parts that a job made under its last plan; empty where nobody knows.
  Content ResultOf(const std::string& job) const;

 private:
  std::map<std::tuple<PlanOfJob, std::string, int>, Content> sections_;
  std::map<PlanOfJob, std::map<int, Content>> parts_;
  std::map<std::string, std::map<PartKey, Content>> attempts_;
  std::map<std::string, int> layers_;
  double damage_share_ = 0;
  std::set<std::pair<PlanOfJob, std::string>> damaged_;
  double received_damage_share_ = 0;
  std::set<std::tuple<PlanOfJob, std::string, int>> read_;
  std::int64_t damage_found_ = 0;
};

}  // namespace weir::sim
