#include "planner/tree/choice/rack_candidates.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/choice/best_count.h"
#include "planner/tree/choice/operand_order.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/rack_schedules.h"

namespace weir::planner::tree {

namespace {

/// Parts of a scattered element that are tried: powers of two.
constexpr std::int64_t kPartsMax = 16;

class RackCandidateBuilder {
 public:
  RackCandidateBuilder(const ReductionProblem& problem, const NetworkModel& network,
                       const Racks& racks, std::int64_t messages_max)
      : problem_(problem),
        racks_(racks),
        costs_{problem.costs, problem.ports, network, problem.LanesEarly()},
        messages_max_(messages_max) {}

  std::vector<RackCandidate> Build() {
    for (const RackShape shape :
         {RackShape::kBinomial, RackShape::kPipeline, RackShape::kTwoTree}) {
      Add(RackShapeName(shape), BestTree(shape));
    }
    const std::int64_t p = problem_.num_machines;
    const std::int64_t core = std::int64_t{1} << FloorLog2(p);
    AddScattered("rabenseifner, near first", core, p * (FloorLog2(p) + 4), [&](std::int32_t parts) {
      return NearFirstSchedule(racks_, problem_.element_units, parts, costs_);
    });
    const std::int32_t most = MostRails(racks_);
    std::int32_t channels = most;
    for (const Cut& cut : problem_.cuts) channels = std::min(channels, cut.channels);
    const auto narrow = static_cast<std::int32_t>(
        std::bit_floor(static_cast<std::uint32_t>(std::max(1, channels))));
    AddRails(most);
    if (narrow < most) AddRails(narrow);
    return std::move(candidates_);
  }

 private:
  void Add(std::string name, absl::StatusOr<Schedule> schedule) {
    if (schedule.ok() && !problem_.commutative) {
      if (absl::Status status = CheckOrderPreserved(*schedule); !status.ok()) schedule = status;
    }
    candidates_.push_back({std::move(name), std::move(schedule)});
  }

  absl::StatusOr<Schedule> BestTree(RackShape shape) {
    const std::int64_t p = problem_.num_machines;
    const std::int64_t limit = std::clamp<std::int64_t>(
        std::min(messages_max_ / p, kRackCellsMax / p), 1, problem_.max_segments);
    return BestCount(limit, /*refines=*/true, /*gives_up=*/true, [&](std::int64_t q) {
      return RackTreeSchedule(racks_, shape,
                              EqualSegments(problem_.element_units, static_cast<std::int32_t>(q)),
                              costs_);
    });
  }

  template <typename Schedules>
  void AddScattered(const std::string& name, std::int64_t segments, std::int64_t messages,
                    const Schedules& build) {
    const std::int64_t limit = std::min(
        {kPartsMax, kRackCellsMax / (segments * problem_.num_machines), messages_max_ / messages});
    if (limit < 1) {
      candidates_.push_back(
          {name, absl::FailedPreconditionError(absl::StrCat(
                     name, " has ", messages, " messages and ", segments, " segments for ",
                     problem_.num_machines, " machines: too many"))});
      return;
    }
    Add(name, BestCount(limit, /*refines=*/false, /*gives_up=*/true, [&](std::int64_t parts) {
          return build(static_cast<std::int32_t>(parts));
        }));
  }

  void AddRails(std::int32_t rails) {
    const std::int64_t width = MostRails(racks_);
    const std::int64_t per_machine = FloorLog2(width) + 4;
    AddScattered(absl::StrCat("rack rails, ", rails), width, problem_.num_machines * per_machine,
                 [&](std::int32_t parts) {
                   return RackRailsSchedule(racks_, problem_.element_units, rails, parts, costs_);
                 });
  }

  const ReductionProblem& problem_;
  const Racks& racks_;
  RackCosts costs_;
  std::int64_t messages_max_;
  std::vector<RackCandidate> candidates_;
};

}  // namespace

std::vector<RackCandidate> RackCandidates(const ReductionProblem& problem,
                                          const NetworkModel& network, const Racks& racks,
                                          std::int64_t messages_max) {
  if (racks.size() < 2 || static_cast<std::int32_t>(racks.size()) == problem.num_machines)
    return {};
  return RackCandidateBuilder(problem, network, racks, messages_max).Build();
}

}  // namespace weir::planner::tree
