#pragma once

// Runs a chain of jobs: the first maps records of the input, each following one maps the results of
// the one before, in the step that reduces them. Upstream: make_program.h. Downstream:
// combine_layer.h, group_layer.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/program.h"
#include "jobs/engine/combine_layer.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/group_layer.h"
#include "jobs/engine/map_ranges.h"
#include "jobs/engine/operation_check.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

namespace layered_internal {

template <typename Job>
constexpr bool kCombines = requires(const Job& job, typename Job::Value& into) {
  job.Combine(into, into);
};

template <typename Job>
using LayerOf = std::conditional_t<kCombines<Job>, CombineLayer<Job>, GroupLayer<Job>>;

template <typename Job>
LayerOf<Job> MakeLayer(Job job, const std::shared_ptr<SlabStore>& slabs) {
  if constexpr (kCombines<Job>) {
    return CombineLayer<Job>(std::move(job), slabs);
  } else {
    return GroupLayer<Job>(std::move(job));
  }
}

}  // namespace layered_internal

/// JobProgram of one or more jobs. Reduce layer p (from 1) reduces the pairs of job p - 1; unless
/// it is the last, its results go at once through Map of job p, on the slot that has them.
///
/// Order: the same order of inputs and number of slots give the same bytes.
/// Bounds: those of combine_layer.h and group_layer.h; a step that reduces and maps holds both.
/// Checked by: tests/unit/jobs/layered_program_test.cc.
template <typename... Jobs>
class LayeredProgram : public JobProgram {
 public:
  explicit LayeredProgram(Jobs... jobs)
      : LayeredProgram(std::make_shared<SlabStore>(), std::move(jobs)...) {}

  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    const auto& layer = std::get<0>(layers_);
    using First = std::tuple_element_t<0, std::tuple<Jobs...>>;
    if constexpr (layered_internal::kCombines<First> && IsCommutative<First>()) {
      if (context.checks_operation()) {
        absl::Status tried = CheckCommutative(layer.job(), order.ranges, context);
        if (!tried.ok()) return tried;
      }
    }
    const auto pieces = SplitRanges(order.ranges, context.slots().num_slots());
    const auto feed = [&](int slot, auto& emit, const std::function<bool()>& stop,
                          auto&& end_block) {
      auto job = layer.job();
      return MapRanges(job, pieces[static_cast<std::size_t>(slot)], emit, context, stop, end_block);
    };
    return layer.Collect(order.consumer_key_end, 0, sink, context, feed);
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder order, RunSink& sink,
                                         StepContext& context) override {
    return ReduceToRunFrom<1>(order, sink, context);
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext& context) override {
    if (order.layer != static_cast<int>(kNumLayers)) return NoSuchLayer(order.layer, "last");
    const auto& layer = std::get<kNumLayers - 1>(layers_);
    return layer.ReduceToPart(order, sink, context);
  }

  absl::StatusOr<StepTotals> Combine(CombineOrder order, RunSink& sink,
                                     StepContext& context) override {
    return CombineFrom<1>(std::move(order), sink, context);
  }

 private:
  static constexpr std::size_t kNumLayers = sizeof...(Jobs);

  // What the tables of a step free is there for those of the next one, of whatever layer.
  LayeredProgram(const std::shared_ptr<SlabStore>& slabs, Jobs... jobs)
      : layers_(layered_internal::MakeLayer(std::move(jobs), slabs)...) {}

  // Finds the layer of the order, once a step.
  template <std::size_t kLayer>
  absl::StatusOr<StepTotals> ReduceToRunFrom(const ReduceOrder& order, RunSink& sink,
                                             StepContext& context) const {
    if constexpr (kLayer < kNumLayers) {
      if (order.layer == static_cast<int>(kLayer)) {
        return ReduceAndMap(std::get<kLayer - 1>(layers_), std::get<kLayer>(layers_), order, sink,
                            context);
      }
      return ReduceToRunFrom<kLayer + 1>(order, sink, context);
    } else {
      return NoSuchLayer(order.layer, "inner");
    }
  }

  template <std::size_t kLayer>
  absl::StatusOr<StepTotals> CombineFrom(CombineOrder order, RunSink& sink, StepContext& context) {
    if constexpr (kLayer <= kNumLayers) {
      if (order.layer != static_cast<int>(kLayer)) {
        return CombineFrom<kLayer + 1>(std::move(order), sink, context);
      }
      const auto& layer = std::get<kLayer - 1>(layers_);
      if constexpr (requires { layer.Combine(order, sink, context); }) {
        return layer.Combine(order, sink, context);
      } else {
        return JobProgram::Combine(std::move(order), sink, context);
      }
    } else {
      return absl::InternalError(absl::StrCat("pairs of layer ", order.layer, " of a job with ",
                                              kNumLayers, " cannot be combined"));
    }
  }

  template <typename From, typename To>
  static absl::StatusOr<StepTotals> ReduceAndMap(const From& from, const To& to,
                                                 const ReduceOrder& order, RunSink& sink,
                                                 StepContext& context) {
    auto results = from.Reduce(order, context);
    if (!results.ok()) return results.status();
    const auto feed = [&](int slot, auto& emit, const std::function<bool()>& stop,
                          auto&& end_block) {
      // Slots wait for one another within Visit: one whose copy of the job throws has to be there.
      std::optional<std::decay_t<decltype(to.job())>> job;
      std::int64_t results_taken = 0;
      std::int64_t checked = 0;
      absl::Status status = (*results)->Visit(slot, stop, [&](const auto& key, const auto& value) {
        if (!job) job.emplace(to.job());
        job->Map(key, value, emit);
        if (emit.bad()) return BadRecordError(*emit.bad());
        const std::int64_t work = ++results_taken + emit.emitted();
        if (work - checked < kWorkBetweenChecks) return absl::OkStatus();
        checked = work;
        // A sign of life: nothing is read or written meanwhile.
        context.AddProgress(1);
        return end_block();
      });
      return status.ok() ? end_block() : status;
    };
    auto totals =
        to.Collect(order.consumer_key_end, (*results)->memory_bytes(), sink, context, feed);
    if (totals.ok()) totals->input_records = (*results)->input_records();
    return totals;
  }

  static absl::Status NoSuchLayer(int layer, const char* kind) {
    return absl::InternalError(absl::StrCat("reduce layer ", layer, " of a job with ", kNumLayers,
                                            " is not its ", kind, " one"));
  }

  // Results taken and pairs emitted: often enough that a result which becomes many pairs does not
  // fill the memory unseen.
  static constexpr std::int64_t kWorkBetweenChecks = 4096;

  const std::tuple<layered_internal::LayerOf<Jobs>...> layers_;
};

}  // namespace weir
