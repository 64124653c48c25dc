#include "planner/plan/check_combined.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/plan_structure.h"

namespace weir::planner {
namespace {

std::string PlacesText(std::int64_t begin, std::int64_t end) {
  return absl::StrCat("places [", begin, ", ", end, ")");
}

bool Combines(const ComputeStep& step) { return step.kind->combines; }

/// What a step holds of the places [begin, end): the sum of its operands' fingerprints. first and
/// last: operands at its ends, where they are neighbours all through.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t sum = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Well mixed and the same everywhere (splitmix64's finisher).
std::uint64_t Fingerprint(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15ULL;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9ULL;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebULL;
  return number ^ (number >> 31);
}

/// Follows the elements of one layer through its sections.
class CombinedLayer {
 public:
  CombinedLayer(const Plan& plan, std::int32_t layer, bool ordered)
      : plan_(plan), layer_(layer), ordered_(ordered), sections_into_(plan.steps.size()) {}

  absl::Status Check() {
    for (const auto collect : {&CombinedLayer::CollectSections, &CombinedLayer::CheckNumbers,
                               &CombinedLayer::CheckBytes, &CombinedLayer::FollowAll,
                               &CombinedLayer::CheckReducers, &CombinedLayer::CheckAllTaken}) {
      if (absl::Status status = (this->*collect)(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  const ComputeStep& StepAt(StepIndex step) const {
    return plan_.steps[static_cast<std::size_t>(step)];
  }

  bool MakesElement(const ComputeStep& step) const {
    return step.kind->carries_layer() && step.layer == layer_ - 1;
  }

  bool CombinesHere(const ComputeStep& step) const {
    return Combines(step) && step.layer == layer_;
  }

  bool ReducesHere(const ComputeStep& step) const {
    return step.kind->splits_keys() && step.layer == layer_;
  }

  absl::Status CollectSections() {
    for (std::size_t i = 0; i < plan_.sections.size(); ++i) {
      const Section& section = plan_.sections[i];
      const ComputeStep& from = StepAt(section.producer);
      const ComputeStep& to = StepAt(section.consumer);
      if (!CombinesHere(to) && !ReducesHere(to)) {
        if (!CombinesHere(from) || (!Combines(to) && !to.kind->splits_keys())) continue;
        return Invalid("Section ", i, ": step ", section.consumer, " of layer ", to.layer,
                       " reads combine step ", section.producer, " of layer ", layer_);
      }
      if (!MakesElement(from) && !CombinesHere(from)) {
        return Invalid("Section ", i, ": step ", section.consumer, " of layer ", layer_,
                       " reads step ", section.producer, ", a ", from.kind->name, " step of layer ",
                       from.layer);
      }
      if (!section.indexes && CombinesHere(to)) {
        return Invalid("Section ", i, " does not say which places of step ", section.producer,
                       " combine step ", section.consumer, " reads");
      }
      if (section.indexes) num_places_ = std::max(num_places_, section.indexes->end);
      sections_.push_back(i);
      sections_into_[static_cast<std::size_t>(section.consumer)].push_back(i);
    }
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!MakesElement(plan_.steps[i])) continue;
      const std::uint64_t fingerprint = Fingerprint(i);
      const std::int32_t rank = plan_.steps[i].index_in_layer;
      held_[static_cast<StepIndex>(i)] = {{0, num_places_, fingerprint, rank, rank}};
      sum_of_all_ += fingerprint;
    }
    return absl::OkStatus();
  }

  absl::Status CheckNumbers() {
    std::vector<StepIndex> steps;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (CombinesHere(plan_.steps[i])) steps.push_back(static_cast<StepIndex>(i));
    }
    std::vector<bool> seen(steps.size(), false);
    for (const StepIndex step : steps) {
      const auto number = static_cast<std::size_t>(StepAt(step).index_in_layer);
      if (number >= seen.size() || seen[number]) {
        return Invalid("Step ", step, " has index_in_layer ", number, "; the ", seen.size(),
                       " combine steps of layer ", layer_, " must be numbered from 0, each once");
      }
      seen[number] = true;
    }
    return absl::OkStatus();
  }

  // Of the steps whose runs are elements.
  absl::Status CheckBytes() {
    std::map<StepIndex, Bytes> bytes_of;
    for (const auto& [step, pieces] : held_) bytes_of[step] = 0;
    for (const std::size_t i : sections_) {
      const auto producer = bytes_of.find(plan_.sections[i].producer);
      if (producer == bytes_of.end()) continue;
      if (__builtin_add_overflow(producer->second, plan_.sections[i].bytes, &producer->second)) {
        return Invalid("Sections of step ", producer->first, " hold over 2^63 bytes");
      }
    }
    for (const auto& [step, bytes] : bytes_of) {
      if (bytes == StepAt(step).output_bytes) continue;
      return Invalid("Step ", step, " makes ", StepAt(step).output_bytes,
                     " bytes, but its sections hold ", bytes);
    }
    return absl::OkStatus();
  }

  /// Combine and reduce steps, each after those that it reads.
  absl::Status FollowAll() {
    std::map<StepIndex, std::vector<StepIndex>> readers;
    std::map<StepIndex, std::int64_t> waits;
    for (const std::size_t i : sections_) {
      const Section& section = plan_.sections[i];
      if (!CombinesHere(StepAt(section.producer))) continue;
      readers[section.producer].push_back(section.consumer);
      ++waits[section.consumer];
    }
    std::vector<StepIndex> open;
    std::int64_t num_steps = 0;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!CombinesHere(plan_.steps[i]) && !ReducesHere(plan_.steps[i])) continue;
      ++num_steps;
      if (!waits.contains(static_cast<StepIndex>(i))) open.push_back(static_cast<StepIndex>(i));
    }
    for (; !open.empty(); --num_steps) {
      const StepIndex step = open.back();
      open.pop_back();
      if (absl::Status status = Follow(step); !status.ok()) return status;
      for (const StepIndex reader : readers[step]) {
        if (--waits[reader] == 0) open.push_back(reader);
      }
    }
    if (num_steps == 0) return absl::OkStatus();
    for (const auto& [step, count] : waits) {
      if (count > 0) return Invalid("Step ", step, " combines what comes from itself");
    }
    return absl::OkStatus();
  }

  std::int64_t PlaceOfKey(double key) const {
    return std::llround(key * static_cast<double>(num_places_));
  }

  IndexRange PlacesOf(const Section& section) const {
    if (section.indexes) return *section.indexes;
    const ComputeStep& to = StepAt(section.consumer);
    return {PlaceOfKey(to.key_begin), PlaceOfKey(to.key_end)};
  }

  /// What a section takes of what its producer holds.
  absl::Status Take(std::size_t section_index, std::vector<Piece>* taken) {
    const Section& section = plan_.sections[section_index];
    const IndexRange places = PlacesOf(section);
    const std::vector<Piece>& held = held_[section.producer];
    std::int64_t covered_until = places.begin;
    auto piece = std::upper_bound(
        held.begin(), held.end(), places.begin,
        [](std::int64_t place, const Piece& candidate) { return place < candidate.end; });
    for (; piece != held.end() && piece->begin < places.end; ++piece) {
      if (piece->begin > covered_until) break;
      Piece part = *piece;
      part.begin = std::max(part.begin, places.begin);
      part.end = std::min(part.end, places.end);
      covered_until = part.end;
      taken->push_back(part);
      if (++pieces_followed_ > kPiecesFollowedMax) {
        return Invalid("Layer ", layer_, " is combined in more than ", kPiecesFollowedMax,
                       " pieces; its tree has too many segments");
      }
    }
    if (covered_until >= places.end) return absl::OkStatus();
    const std::int64_t lacks_until =
        piece != held.end() ? std::min(piece->begin, places.end) : places.end;
    return Invalid("Section ", section_index, " takes ", PlacesText(places.begin, places.end),
                   " from step ", section.producer, ", which holds none of ",
                   PlacesText(covered_until, lacks_until));
  }

  absl::Status Follow(StepIndex step) {
    std::vector<Piece> taken;
    for (const std::size_t i : sections_into_[static_cast<std::size_t>(step)]) {
      if (absl::Status status = Take(i, &taken); !status.ok()) return status;
    }
    std::vector<std::int64_t> borders;
    for (const Piece& piece : taken) {
      borders.push_back(piece.begin);
      borders.push_back(piece.end);
    }
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    std::vector<std::optional<Piece>> slices(borders.empty() ? 0 : borders.size() - 1);
    for (const Piece& piece : taken) {
      auto at = static_cast<std::size_t>(
          std::lower_bound(borders.begin(), borders.end(), piece.begin) - borders.begin());
      for (; at < slices.size() && borders[at] < piece.end; ++at) {
        if (++pieces_followed_ > kPiecesFollowedMax) {
          return Invalid("Layer ", layer_, " is combined in more than ", kPiecesFollowedMax,
                         " pieces; its tree has too many segments");
        }
        std::optional<Piece>& slice = slices[at];
        if (!slice) {
          slice = piece;
          slice->begin = borders[at];
          slice->end = borders[at + 1];
          continue;
        }
        if (ordered_ && slice->last + 1 != piece.first) {
          return Invalid("Step ", step, " folds operand ", piece.first, " of layer ", layer_ - 1,
                         " onto operands up to ", slice->last, ", of ",
                         PlacesText(slice->begin, slice->end), ": they are not in their order");
        }
        slice->sum += piece.sum;
        slice->last = piece.last;
      }
    }
    held_[step] = Joined(slices);
    return absl::OkStatus();
  }

  static std::vector<Piece> Joined(const std::vector<std::optional<Piece>>& slices) {
    std::vector<Piece> pieces;
    for (const std::optional<Piece>& slice : slices) {
      if (!slice) continue;
      if (!pieces.empty() && pieces.back().end == slice->begin && pieces.back().sum == slice->sum &&
          pieces.back().first == slice->first && pieces.back().last == slice->last) {
        pieces.back().end = slice->end;
      } else {
        pieces.push_back(*slice);
      }
    }
    return pieces;
  }

  absl::Status CheckReducers() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!ReducesHere(plan_.steps[i])) continue;
      const auto step = static_cast<StepIndex>(i);
      if (absl::Status status = CheckReducer(step); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status CheckReducer(StepIndex step) {
    const std::int64_t begin = PlaceOfKey(StepAt(step).key_begin);
    const std::int64_t end = PlaceOfKey(StepAt(step).key_end);
    std::int64_t covered_until = begin;
    std::int64_t lacks_until = end;
    for (const Piece& piece : held_[step]) {
      if (piece.begin < begin || piece.end > end) {
        return Invalid("Section ", SectionOf(step, piece), " brings ",
                       PlacesText(piece.begin, piece.end), " to step ", step, ", whose keys are ",
                       PlacesText(begin, end));
      }
      if (piece.begin > covered_until) {
        lacks_until = piece.begin;
        break;
      }
      if (piece.sum != sum_of_all_) {
        return Invalid("Step ", step, " gets through section ", SectionOf(step, piece), ", of ",
                       PlacesText(piece.begin, piece.end), ", ", WhatIsWrong(piece.sum),
                       "; each step of layer ", layer_ - 1, " must count once");
      }
      covered_until = piece.end;
    }
    if (covered_until >= end) return absl::OkStatus();
    return Invalid("Step ", step, " reduces layer ", layer_, " but no section brings it ",
                   PlacesText(covered_until, lacks_until), " of what layer ", layer_ - 1, " made");
  }

  // What nobody takes was combined for nothing, or should have gone on.
  absl::Status CheckAllTaken() {
    std::map<StepIndex, std::vector<IndexRange>> taken_of;
    for (const std::size_t i : sections_) {
      taken_of[plan_.sections[i].producer].push_back(PlacesOf(plan_.sections[i]));
    }
    for (auto& [step, pieces] : held_) {
      if (ReducesHere(StepAt(step))) continue;
      std::vector<IndexRange>& taken = taken_of[step];
      std::sort(taken.begin(), taken.end(), [](const IndexRange& a, const IndexRange& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
      });
      std::size_t next = 0;
      std::int64_t taken_until = 0;
      for (const Piece& piece : pieces) {
        taken_until = std::max(taken_until, piece.begin);
        for (; next < taken.size() && taken[next].begin <= taken_until; ++next) {
          taken_until = std::max(taken_until, taken[next].end);
        }
        if (taken_until >= piece.end) continue;
        const std::int64_t left_until =
            next < taken.size() ? std::min(taken[next].begin, piece.end) : piece.end;
        return Invalid("Step ", step, " of layer ", StepAt(step).layer, " makes ",
                       PlacesText(taken_until, left_until), ", which no section takes to layer ",
                       layer_);
      }
    }
    return absl::OkStatus();
  }

  std::size_t SectionOf(StepIndex step, const Piece& piece) const {
    for (const std::size_t i : sections_into_[static_cast<std::size_t>(step)]) {
      const IndexRange places = PlacesOf(plan_.sections[i]);
      if (places.begin < piece.end && piece.begin < places.end) return i;
    }
    return 0;  // unreachable: pieces come from sections
  }

  std::string WhatIsWrong(std::uint64_t sum) const {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!MakesElement(plan_.steps[i])) continue;
      if (sum + Fingerprint(i) == sum_of_all_) return absl::StrCat("nothing of step ", i);
      if (sum - Fingerprint(i) == sum_of_all_) return absl::StrCat("step ", i, " twice");
    }
    return "several steps not at all or more than once";
  }

  const Plan& plan_;
  const std::int32_t layer_;
  const bool ordered_;
  std::vector<std::size_t> sections_;  // of this layer, as in the plan
  std::vector<std::vector<std::size_t>> sections_into_;
  std::map<StepIndex, std::vector<Piece>> held_;  // pieces by rising place
  std::int64_t num_places_ = 0;
  std::uint64_t sum_of_all_ = 0;
  std::int64_t pieces_followed_ = 0;
};

absl::Status CheckLayers(const Plan& plan, bool ordered) {
  for (const std::int32_t layer : CombinedLayers(plan)) {
    if (absl::Status status = CombinedLayer(plan, layer, ordered).Check(); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::set<std::int32_t> CombinedLayers(const Plan& plan) {
  std::set<std::int32_t> reduced;
  std::set<std::int32_t> combined;
  std::set<std::int32_t> other;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->splits_keys()) reduced.insert(step.layer);
  }
  for (const Section& section : plan.sections) {
    const ComputeStep& from = plan.steps[static_cast<std::size_t>(section.producer)];
    const ComputeStep& to = plan.steps[static_cast<std::size_t>(section.consumer)];
    if (to.kind->splits_keys()) {
      if (Combines(from)) combined.insert(to.layer);
      if (!Combines(from) && !from.kind->carries_layer()) other.insert(to.layer);
    } else if (Combines(to) && from.kind->carries_layer() && from.layer == to.layer - 1 &&
               reduced.contains(to.layer)) {
      combined.insert(to.layer);
    }
  }
  for (const std::int32_t layer : other) combined.erase(layer);
  return combined;
}

absl::Status CheckCombined(const Plan& plan) { return CheckLayers(plan, /*ordered=*/false); }

absl::Status CheckOperandOrder(const Plan& plan, std::int32_t layer) {
  if (!CombinedLayers(plan).contains(layer)) return absl::OkStatus();
  return CombinedLayer(plan, layer, /*ordered=*/true).Check();
}

absl::Status CheckOperandOrder(const Plan& plan) { return CheckLayers(plan, /*ordered=*/true); }

}  // namespace weir::planner
