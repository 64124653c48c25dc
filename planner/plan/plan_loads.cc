#include "planner/plan/plan_loads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/plan/check_combined.h"
#include "planner/plan/check_store.h"
#include "planner/plan/plan_structure.h"

namespace weir::planner {
namespace {

constexpr double kFractionTolerance = 1e-9;

// Adds a size that is not negative; stays at the largest value instead of overflowing, where it
// equals no honest sum.
void AddSaturating(Bytes size, Bytes* sum) {
  if (__builtin_add_overflow(*sum, size, sum)) *sum = std::numeric_limits<Bytes>::max();
}

using StepList = std::vector<StepIndex>;

// Mappers or reducers by (layer, kind); ordered, so that messages do not depend on hashing.
using StepsByLayer = std::map<std::pair<std::int32_t, StepKind>, StepList>;

StepsByLayer GroupByLayer(const Plan& plan) {
  StepsByLayer groups;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ComputeStep& step = plan.steps[i];
    groups[{step.layer, step.kind}].push_back(static_cast<StepIndex>(i));
  }
  return groups;
}

absl::Status CheckNumbering(const Plan& plan, const StepList& steps) {
  std::vector<bool> seen(steps.size(), false);
  for (const StepIndex index : steps) {
    const ComputeStep& step = plan.steps[static_cast<std::size_t>(index)];
    const auto position = static_cast<std::size_t>(step.index_in_layer);
    if (position >= seen.size() || seen[position]) {
      return Invalid("Step ", index, " has index_in_layer ", step.index_in_layer, "; the ",
                     steps.size(), " ", step.kind->name, " steps of layer ", step.layer,
                     " must be numbered from 0, each once");
    }
    seen[position] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckInputParts(const std::vector<Bytes>& ends, Bytes input_bytes) {
  if (ends.empty()) return absl::OkStatus();
  if (ends.size() > kInputPartsMax || static_cast<Bytes>(ends.size()) > input_bytes) {
    return Invalid("The input has ", ends.size(), " parts; at most ", kInputPartsMax,
                   " are told apart, each of at least a byte of ", input_bytes);
  }
  Bytes before = 0;
  for (const Bytes end : ends) {
    if (end <= before) {
      return Invalid("A part of the input ends at ", end, ", the one before it at ", before);
    }
    before = end;
  }
  if (before == input_bytes) return absl::OkStatus();
  return Invalid("The last part of the input ends at ", before, ", the input at ", input_bytes);
}

absl::Status CheckMapRanges(const Plan& plan, StepList maps) {
  std::sort(maps.begin(), maps.end(), [&](StepIndex a, StepIndex b) {
    const ComputeStep& left = plan.steps[static_cast<std::size_t>(a)];
    const ComputeStep& right = plan.steps[static_cast<std::size_t>(b)];
    return std::tie(left.input_begin, left.input_end, a) <
           std::tie(right.input_begin, right.input_end, b);
  });
  Bytes covered_until = 0;
  for (const StepIndex index : maps) {
    const ComputeStep& step = plan.steps[static_cast<std::size_t>(index)];
    if (step.layer != 0) {
      return Invalid("Step ", index, " maps in layer ", step.layer, "; maps are in layer 0");
    }
    if (step.input_begin != covered_until) {
      return Invalid("Map input does not tile: step ", index, " begins at byte ", step.input_begin,
                     ", the one before it ends at ", covered_until);
    }
    if (step.input_bytes != step.input_end - step.input_begin) {
      return Invalid("Step ", index, " has input_bytes ", step.input_bytes,
                     ", but its input range holds ", step.input_end - step.input_begin);
    }
    covered_until = step.input_end;
  }
  return CheckInputParts(plan.input_part_ends, covered_until);
}

absl::Status CheckKeyCuts(const Plan& plan, StepList reducers) {
  const std::int32_t layer = plan.steps[static_cast<std::size_t>(reducers[0])].layer;
  if (layer < 1) return Invalid("Step ", reducers[0], " reduces in layer 0");
  double fraction_sum = 0;
  for (const StepIndex index : reducers) {
    const ComputeStep& step = plan.steps[static_cast<std::size_t>(index)];
    const bool in_range = step.load_fraction >= 0 && step.load_fraction <= 1 + kFractionTolerance &&
                          step.key_begin >= 0 && step.key_end >= step.key_begin &&
                          step.key_end <= 1;
    if (!in_range) {
      return Invalid("Step ", index, " has a bad share: load_fraction ", step.load_fraction,
                     ", keys [", step.key_begin, ", ", step.key_end, ")");
    }
    fraction_sum += step.load_fraction;
  }
  if (std::abs(fraction_sum - 1) > kFractionTolerance) {
    return Invalid("Load fractions of layer ", layer, " add up to ", fraction_sum, ", not 1");
  }
  std::sort(reducers.begin(), reducers.end(), [&](StepIndex a, StepIndex b) {
    const ComputeStep& left = plan.steps[static_cast<std::size_t>(a)];
    const ComputeStep& right = plan.steps[static_cast<std::size_t>(b)];
    return std::tie(left.key_begin, left.key_end, a) < std::tie(right.key_begin, right.key_end, b);
  });
  double covered_until = 0;
  for (const StepIndex index : reducers) {
    const ComputeStep& step = plan.steps[static_cast<std::size_t>(index)];
    if (step.key_begin != covered_until) {
      return Invalid("Key cuts of layer ", layer, " do not tile: step ", index, " begins at ",
                     step.key_begin, ", the one before it ends at ", covered_until);
    }
    covered_until = step.key_end;
  }
  if (covered_until != 1) {
    return Invalid("Key cuts of layer ", layer, " end at ", covered_until, ", not at 1");
  }
  return absl::OkStatus();
}

// Transfers and sections, each sorted by (producer, consumer), walked side by side; what is read in
// place is looked up among the pairs of which the consumer waits for the producer.
class SectionTiling {
 public:
  explicit SectionTiling(const Plan& plan) : plan_(plan) {
    for (std::size_t i = 0; i < plan.sections.size(); ++i) sections_.push_back(i);
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) transfers_.push_back(i);
    std::sort(sections_.begin(), sections_.end(), [&](std::size_t a, std::size_t b) {
      const Section& left = plan_.sections[a];
      const Section& right = plan_.sections[b];
      return std::tie(left.producer, left.consumer, a) <
             std::tie(right.producer, right.consumer, b);
    });
    std::sort(transfers_.begin(), transfers_.end(), [&](std::size_t a, std::size_t b) {
      const Transfer& left = plan_.transfers[a];
      const Transfer& right = plan_.transfers[b];
      return std::tie(left.producer, left.consumer, left.offset, a) <
             std::tie(right.producer, right.consumer, right.offset, b);
    });
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      for (const StepIndex before : plan.steps[i].after_steps) {
        in_place_.emplace_back(before, static_cast<StepIndex>(i));
      }
    }
    std::sort(in_place_.begin(), in_place_.end());
  }

  absl::Status Check() {
    if (absl::Status status = CheckSectionsAlone(); !status.ok()) return status;
    std::size_t at = 0;
    for (const std::size_t section_index : sections_) {
      const Section& section = plan_.sections[section_index];
      const auto key = std::tie(section.producer, section.consumer);
      if (at < transfers_.size() && KeyOf(at) < key) return NoSection(at);
      const std::size_t first = at;
      while (at < transfers_.size() && KeyOf(at) == key) ++at;
      if (absl::Status status = CheckOne(section, first, at); !status.ok()) return status;
    }
    return at < transfers_.size() ? NoSection(at) : absl::OkStatus();
  }

 private:
  using Key = std::tuple<const StepIndex&, const StepIndex&>;

  Key KeyOf(std::size_t at) const {
    const Transfer& transfer = plan_.transfers[transfers_[at]];
    return std::tie(transfer.producer, transfer.consumer);
  }

  absl::Status NoSection(std::size_t at) const {
    const Transfer& transfer = plan_.transfers[transfers_[at]];
    return Invalid("Transfer ", transfers_[at], " moves bytes of no section: producer step ",
                   transfer.producer, ", consumer step ", transfer.consumer);
  }

  absl::Status CheckSectionsAlone() const {
    const auto num_steps = static_cast<StepIndex>(plan_.steps.size());
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Section& section = plan_.sections[sections_[i]];
      if (section.producer < 0 || section.producer >= num_steps || section.consumer < 0 ||
          section.consumer >= num_steps || section.bytes < 0) {
        return Invalid("Section ", sections_[i], " is out of range: producer ", section.producer,
                       ", consumer ", section.consumer, " of ", num_steps, " steps, bytes ",
                       section.bytes);
      }
      const IndexRange indexes = section.indexes.value_or(IndexRange{});
      if (indexes.begin < 0 || indexes.end < indexes.begin) {
        return Invalid("Section ", sections_[i], " has no index range: [", indexes.begin, ", ",
                       indexes.end, ")");
      }
      if (indexes.end > kIndexPlacesMax) {
        return Invalid("Section ", sections_[i], " holds places up to ", indexes.end, "; at most ",
                       kIndexPlacesMax, " are told apart");
      }
      if (i == 0) continue;
      const Section& before = plan_.sections[sections_[i - 1]];
      if (before.producer == section.producer && before.consumer == section.consumer) {
        return Invalid("Sections ", sections_[i - 1], " and ", sections_[i],
                       " are the same: producer ", section.producer, ", consumer ",
                       section.consumer);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOne(const Section& section, std::size_t first, std::size_t last) const {
    const ComputeStep& producer = plan_.steps[static_cast<std::size_t>(section.producer)];
    const ComputeStep& consumer = plan_.steps[static_cast<std::size_t>(section.consumer)];
    if (producer.worker == consumer.worker) {
      const std::pair<StepIndex, StepIndex> pair{section.producer, section.consumer};
      if (!std::binary_search(in_place_.begin(), in_place_.end(), pair)) {
        return Invalid("Step ", section.consumer, " reads step ", section.producer,
                       " in place but does not wait for it (after_steps)");
      }
      return absl::OkStatus();
    }
    if (first == last) {
      return Invalid("Section from step ", section.producer, " to step ", section.consumer,
                     " has no transfer: ", section.bytes, " bytes from worker ", producer.worker,
                     " to ", consumer.worker);
    }
    Bytes covered_until = 0;
    for (std::size_t at = first; at < last; ++at) {
      const Transfer& transfer = plan_.transfers[transfers_[at]];
      if (transfer.offset != covered_until) {
        return Invalid("Transfer ", transfers_[at], " begins at byte ", transfer.offset,
                       " of the section from step ", section.producer, " to step ",
                       section.consumer, "; the one before it ends at ", covered_until);
      }
      if (transfer.bytes == 0 && last - first > 1) {
        return Invalid("Transfer ", transfers_[at], " is empty beside others of its section");
      }
      covered_until = transfer.offset + transfer.bytes;
    }
    if (covered_until != section.bytes) {
      return Invalid("Transfers of the section from step ", section.producer, " to step ",
                     section.consumer, " move ", covered_until, " bytes; it has ", section.bytes);
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  std::vector<std::size_t> sections_;
  std::vector<std::size_t> transfers_;
  std::vector<std::pair<StepIndex, StepIndex>> in_place_;  // producer, consumer; sorted
};

bool MakesRun(const ComputeStep& step) { return step.kind->carries_layer(); }

// Reads what others made and makes something of it.
bool IsBetween(const ComputeStep& step) {
  return !step.kind->carries_layer() && !step.kind->stores;
}

// What the sections say of each step.
struct SectionSums {
  explicit SectionSums(const Plan& plan)
      : in_bytes(plan.steps.size(), 0),
        reads(plan.steps.size(), false),
        out_bytes(plan.steps.size(), 0),
        sources(plan.steps.size(), 0),
        feeds_reduce(plan.steps.size(), false),
        feeds_between(plan.steps.size(), false) {
    for (const Section& section : plan.sections) {
      const auto producer = static_cast<std::size_t>(section.producer);
      const auto consumer = static_cast<std::size_t>(section.consumer);
      AddSaturating(section.bytes, &in_bytes[consumer]);
      reads[consumer] = true;
      if (IsBetween(plan.steps[consumer])) feeds_between[producer] = true;
      if (!plan.steps[consumer].kind->splits_keys()) continue;
      AddSaturating(section.bytes, &out_bytes[producer]);
      feeds_reduce[producer] = true;
      if (MakesRun(plan.steps[producer])) ++sources[consumer];
    }
  }

  std::vector<Bytes> in_bytes;
  std::vector<bool> reads;
  std::vector<Bytes> out_bytes;       // for reducers only
  std::vector<std::int64_t> sources;  // mappers or reducers of the layer before that feed a reducer
  std::vector<bool> feeds_reduce;
  std::vector<bool> feeds_between;
};

absl::Status CheckSums(const Plan& plan) {
  for (const Section& section : plan.sections) {
    const ComputeStep& from = plan.steps[static_cast<std::size_t>(section.producer)];
    const ComputeStep& to = plan.steps[static_cast<std::size_t>(section.consumer)];
    if (to.kind->reads_input()) {
      return Invalid("Step ", section.consumer, " maps input, but has a section from step ",
                     section.producer);
    }
    if (to.kind->splits_keys() && MakesRun(from) && from.layer != to.layer - 1) {
      return Invalid("Step ", section.consumer, " reduces layer ", to.layer, " but reads step ",
                     section.producer, " of layer ", from.layer);
    }
  }
  const SectionSums sums(plan);
  const std::set<std::int32_t> combined = CombinedLayers(plan);
  // Mappers and reducers by layer: all, and those that reducers have to read themselves.
  std::map<std::int32_t, std::int64_t> made, direct;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const bool makes_run = MakesRun(plan.steps[i]);
    if (makes_run) ++made[plan.steps[i].layer];
    if (!makes_run || combined.contains(plan.steps[i].layer + 1)) continue;
    if (sums.feeds_reduce[i] || !sums.feeds_between[i]) ++direct[plan.steps[i].layer];
    if (sums.feeds_reduce[i] && sums.out_bytes[i] != plan.steps[i].output_bytes) {
      return Invalid("Step ", i, " makes ", plan.steps[i].output_bytes,
                     " bytes, but its sections hold ", sums.out_bytes[i]);
    }
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ComputeStep& step = plan.steps[i];
    if (!step.kind->splits_keys()) continue;
    if (sums.in_bytes[i] != step.input_bytes) {
      return Invalid("Step ", i, " reads ", step.input_bytes, " bytes, but its sections hold ",
                     sums.in_bytes[i]);
    }
    if (combined.contains(step.layer)) continue;
    const std::int64_t expected = direct[step.layer - 1];
    if (sums.sources[i] != expected) {
      return Invalid("Step ", i, " reduces layer ", step.layer, " but has sections from ",
                     sums.sources[i], " of the ", expected, " steps of layer ", step.layer - 1);
    }
    // Others may read those steps, and then nobody what these made.
    if (!sums.reads[i] && made[step.layer - 1] > 0) {
      return Invalid("Step ", i, " reduces layer ", step.layer, ", but no section brings it what ",
                     made[step.layer - 1], " steps of layer ", step.layer - 1, " made");
    }
  }
  return absl::OkStatus();
}

// Reducers are those of layers 1, 2, ... to the last.
absl::Status CheckLayersFollow(const StepsByLayer& groups) {
  std::int32_t last = 0;
  for (const auto& [key, steps] : groups) {
    const auto& [layer, kind] = key;
    if (!kind->splits_keys()) continue;
    if (layer > last + 1) {
      return Invalid("Step ", steps[0], " reduces layer ", layer, ", but no step reduces layer ",
                     last + 1);
    }
    last = layer;
  }
  return absl::OkStatus();
}

// What is made below the last layer goes on.
absl::Status CheckAllRead(const Plan& plan) {
  const SectionSums sums(plan);
  std::int32_t last = 0;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->splits_keys()) last = std::max(last, step.layer);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ComputeStep& step = plan.steps[i];
    if (!MakesRun(step) || step.layer >= last) continue;
    if (sums.feeds_reduce[i] || sums.feeds_between[i]) continue;
    return Invalid("Step ", i, " makes a run of layer ", step.layer,
                   " that no step reads; the last layer is ", last);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLoads(const Plan& plan) {
  if (absl::Status status = SectionTiling(plan).Check(); !status.ok()) return status;
  const StepsByLayer groups = GroupByLayer(plan);
  for (const auto& [key, steps] : groups) {
    const StepKind kind = key.second;
    if (!kind->carries_layer() && !kind->stores) continue;
    if (absl::Status status = CheckNumbering(plan, steps); !status.ok()) return status;
    if (!kind->carries_layer()) continue;
    absl::Status status =
        kind->reads_input() ? CheckMapRanges(plan, steps) : CheckKeyCuts(plan, steps);
    if (!status.ok()) return status;
  }
  if (absl::Status status = CheckSums(plan); !status.ok()) return status;
  if (absl::Status status = CheckLayersFollow(groups); !status.ok()) return status;
  if (absl::Status status = CheckCombined(plan); !status.ok()) return status;
  if (absl::Status status = CheckAllRead(plan); !status.ok()) return status;
  return CheckWrites(plan);
}

}  // namespace weir::planner
