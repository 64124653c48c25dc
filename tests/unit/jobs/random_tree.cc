#include "tests/unit/jobs/random_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_join.h"

namespace weir::testing {
namespace {

using Section = std::vector<std::string>;  // its blocks

/// The partial results of each range of places, in the order of their operands.
class RandomTree {
 public:
  RandomTree(JobProgram& program, std::uint64_t seed, int num_slots)
      : program_(program), draw_(seed), num_slots_(num_slots) {}

  absl::Status Map(const JobCut& cut, bool splits) {
    const int num_ranges = splits ? Between(1, 5) : 1;
    for (int i = 1; i < num_ranges; ++i) {
      ends_.push_back(static_cast<double>(Place()) / Places());
    }
    ends_.push_back(1);
    std::sort(ends_.begin(), ends_.end());
    partials_.resize(ends_.size());
    for (const std::vector<InputRange>& ranges : cut.mappers) {
      MemoryRun run;
      RecordingContext context(cut.num_slots);
      const auto totals = program_.Map({ranges, ends_}, run, context);
      if (!totals.ok()) return totals.status();
      for (std::size_t r = 0; r < ends_.size(); ++r) partials_[r].push_back(Take(run, r));
    }
    return absl::OkStatus();
  }

  absl::Status Combine() {
    while (true) {
      std::vector<std::size_t> open;  // ranges with partial results to combine
      for (std::size_t r = 0; r < partials_.size(); ++r) {
        if (partials_[r].size() > 1) open.push_back(r);
      }
      if (open.empty()) return absl::OkStatus();
      const std::size_t first = open[At(open.size())];
      std::size_t last = first + 1;
      while (last < partials_.size() && partials_[last].size() > 1 && Between(0, 1) == 1) ++last;
      if (absl::Status status = CombineNeighbours(first, last); !status.ok()) return status;
    }
  }

  absl::StatusOr<std::vector<std::string>> Reduce(int num_parts) {
    std::vector<std::size_t> borders = {0, partials_.size()};
    while (static_cast<int>(borders.size()) <= num_parts) {
      borders.push_back(At(partials_.size() + 1));
    }
    std::sort(borders.begin(), borders.end());
    std::vector<std::string> parts;
    for (std::size_t part = 0; part + 1 < borders.size(); ++part) {
      ReduceOrder order;
      order.index_in_layer = static_cast<int>(part);
      for (std::size_t r = borders[part]; r < borders[part + 1]; ++r) {
        order.inputs.push_back(std::make_unique<MemorySource>(partials_[r].front()));
      }
      MemoryPart made;
      RecordingContext context(num_slots_);
      const auto totals = program_.ReduceToPart(std::move(order), made, context);
      if (!totals.ok()) return totals.status();
      parts.push_back(std::move(made.text));
    }
    return parts;
  }

 private:
  int Between(int min, int max) { return std::uniform_int_distribution<int>(min, max)(draw_); }
  std::size_t At(std::size_t size) {
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(draw_);
  }
  std::int64_t Place() {
    return std::uniform_int_distribution<std::int64_t>(0, program_.num_places(1))(draw_);
  }
  double Places() const { return static_cast<double>(program_.num_places(1)); }

  static Section Take(const MemoryRun& run, std::size_t range) {
    const auto section = run.sections().find(static_cast<int>(range));
    return section == run.sections().end() ? Section() : section->second;
  }

  // One step for ranges first .. last - 1: in each of them it takes some neighbours and puts what
  // they give in their place.
  absl::Status CombineNeighbours(std::size_t first, std::size_t last) {
    std::size_t most = 0;
    std::vector<std::pair<std::size_t, std::size_t>> taken;
    for (std::size_t r = first; r < last; ++r) {
      const std::size_t begin = At(partials_[r].size() - 1);
      const std::size_t count = 2 + At(partials_[r].size() - begin - 1);
      taken.emplace_back(begin, count);
      most = std::max(most, count);
    }
    CombineOrder order;
    for (std::size_t operand = 0; operand < most; ++operand) {
      for (std::size_t r = first; r < last; ++r) {
        const auto& [begin, count] = taken[r - first];
        if (operand >= count) continue;
        order.inputs.push_back(std::make_unique<MemorySource>(partials_[r][begin + operand]));
      }
    }
    order.consumer_key_end.assign(ends_.begin() + static_cast<std::ptrdiff_t>(first),
                                  ends_.begin() + static_cast<std::ptrdiff_t>(last));
    order.consumer_key_end.back() = 1;
    MemoryRun run;
    RecordingContext context(num_slots_);
    const auto totals = program_.Combine(std::move(order), run, context);
    if (!totals.ok()) return totals.status();
    if (totals->output_records != run.records()) return absl::InternalError("records lost");
    for (std::size_t r = first; r < last; ++r) {
      const auto& [begin, count] = taken[r - first];
      const auto from = partials_[r].begin() + static_cast<std::ptrdiff_t>(begin);
      partials_[r].erase(from + 1, from + static_cast<std::ptrdiff_t>(count));
      partials_[r][begin] = Take(run, r - first);
    }
    return absl::OkStatus();
  }

  JobProgram& program_;
  std::mt19937_64 draw_;
  const int num_slots_;
  std::vector<double> ends_;
  std::vector<std::vector<Section>> partials_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> RunAlongRandomTree(JobProgram& program, const JobCut& cut,
                                                            int num_parts, std::uint64_t seed,
                                                            bool splits) {
  RandomTree tree(program, seed, cut.num_slots);
  absl::Status status = tree.Map(cut, splits);
  if (status.ok()) status = tree.Combine();
  if (!status.ok()) return status;
  return tree.Reduce(num_parts);
}

std::string Joined(const std::vector<std::string>& parts) { return absl::StrJoin(parts, ""); }

MemoryRun MapOf(JobProgram& program, const ScratchFile& file) {
  MemoryRun run;
  RecordingContext context(1);
  EXPECT_TRUE(program.Map({{file.range()}, {1.0}}, run, context).ok());
  return run;
}

void HoldsForAnyCut(JobProgram& program, const std::string& text, bool splits) {
  const ScratchFile file(text);
  const int mappers = *rc::gen::inRange(1, 8);
  const int slots = *rc::gen::inRange(1, 4);
  const int parts = splits ? *rc::gen::inRange(1, 4) : 1;
  const auto expected = RunJob(program, EvenCut({file.path()}, 1, 1, 1));
  RC_ASSERT(expected.ok());
  const auto shuffled = RunJob(program, EvenCut({file.path()}, mappers, parts, slots));
  RC_ASSERT(shuffled.ok());
  RC_ASSERT(Joined(*shuffled) == Joined(*expected));
  const auto combined = RunAlongRandomTree(program, EvenCut({file.path()}, mappers, 1, slots),
                                           parts, *rc::gen::arbitrary<std::uint64_t>(), splits);
  RC_ASSERT(combined.ok());
  RC_ASSERT(Joined(*combined) == Joined(*expected));
}

}  // namespace weir::testing
