#pragma once

// Runs a job that is a loop: its input is read once and stays in the process that read it.
// Upstream: jobs/<job>. Downstream: loop_sections.h.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/loop/loop_sections.h"
#include "jobs/engine/map_ranges.h"
#include "jobs/engine/rules/loop_rules.h"
#include "jobs/engine/slots/slot_work.h"

namespace weir {

/// What Update says beside the next state.
struct LoopOutcome {
  double measure = 0;
  bool converged = false;
};

/// JobProgram of a loop, instantiated in the author's translation unit.
///
/// Model: a job is a copyable class.
///
///   using Reader;                 as in make_program.h
///   using Place;                  of elements and states; trivially copyable; starts as Place{}
///   using Resident;               what stays of the input, one a slot; has memory_bytes() const
///   std::int64_t Places() const;       of an element
///   std::int64_t StatePlaces() const;
///   void Load(record, Resident& resident, Emit& emit);    emit.Reject(record, reason)
///   void Map(int iteration, const Resident&, absl::Span<const Place> state,
///            absl::Span<Place> element) const;            state is empty in iteration 0
///       It may take a Resident& to keep there what it found out; the same order does the same.
///   void Combine(int iteration, absl::Span<Place> into, absl::Span<const Place> from) const;
///       the same places of two elements; associative; `from` comes later in the input
///   absl::StatusOr<LoopOutcome> Update(int iteration, absl::Span<const Place> state,
///       absl::Span<const Place> element, absl::Span<Place> next) const;
///   void Format(absl::Span<const Place> state, std::string& out) const;   the output part
///   static constexpr std::string_view kMeasure;           what Update measures; not empty
///
/// A job with `static constexpr bool kElementWise = true` makes each place of the next state of the
///   same place of element and state only, has as many places of both, and may be asked for any
///   range of places, so that each worker updates some (LoopInfo::element_wise). Of its outcomes
///   the one of the range with place 0 counts. It has instead
///
///   absl::StatusOr<LoopOutcome> Update(int iteration, std::int64_t first_place,
///       absl::Span<const Place> state, absl::Span<const Place> element,
///       absl::Span<Place> next) const;
///   void Format(std::int64_t first_place, absl::Span<const Place> state, std::string& out) const;
///
/// Order: slots load neighbouring parts of the input, their elements are combined in this order and
///   those of other processes in the order of the operands: the same plan and number of slots give
///   the same bits.
/// Thread-safety: one step at a time. Ownership: what Map loaded stays until the program goes, or
///   until the next Map.
/// Bounds: what stays, an element a slot and a state fit into StepContext::memory_bytes, else the
///   step fails with OUT_OF_MEMORY.
/// Errors: DATA_LOSS for sections of another iteration or size.
/// Checked by: tests/unit/jobs/loop_program_test.cc, kmeans_test.cc.
template <typename Job>
class LoopProgram : public JobProgram {
 public:
  using Place = typename Job::Place;
  static_assert(sizeof(Place) <= 1 << 16, "The Place of a loop has at most 64 KiB.");
  static_assert(!Job::kMeasure.empty(),
                "kMeasure of a loop is not empty: it names what Update "
                "measures.");

  explicit LoopProgram(Job job) : job_(std::move(job)) {}

  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    loaded_ = false;
    StepTotals totals;
    if (absl::Status status = Load(order, context, totals); !status.ok()) return status;
    loaded_ = true;
    return MapResident(0, {}, order.consumer_key_end, totals, sink, context);
  }

  absl::StatusOr<StepTotals> Iterate(IterateOrder order, RunSink& sink,
                                     StepContext& context) override {
    if (!loaded_) {
      return absl::FailedPreconditionError(absl::StrCat(
          "iteration ", order.iteration, " has no input: the process that mapped it is gone"));
    }
    absl::StatusOr<Gathered> gathered = Gather(order.inputs, context);
    if (!gathered.ok()) return gathered.status();
    const Range whole{0, job_.StatePlaces()};
    if (absl::Status status = CheckState(*gathered, order.iteration - 1, whole); !status.ok()) {
      return status;
    }
    return MapResident(order.iteration, gathered->state.values, order.consumer_key_end,
                       StepTotals(), sink, context);
  }

  absl::StatusOr<StepTotals> Combine(CombineOrder order, RunSink& sink,
                                     StepContext& context) override {
    absl::StatusOr<Gathered> gathered = Gather(order.inputs, context);
    if (!gathered.ok()) return gathered.status();
    StepTotals totals;
    // A broadcast: everybody gets the whole state.
    if (gathered->has_state) {
      if (!gathered->element.values.empty() || order.inputs.size() != 1 ||
          !gathered->state.whole()) {
        return WrongLoopSection("a state is not combined");
      }
      return WriteState(gathered->state.iteration, gathered->state.first_place,
                        gathered->state.values, static_cast<int>(order.consumer_key_end.size()),
                        totals, sink);
    }
    return WriteElement(gathered->element, order.consumer_key_end, totals, sink);
  }

  absl::StatusOr<StepTotals> Update(UpdateOrder order, RunSink& sink, StepContext& context,
                                    LoopReport& report) override {
    absl::StatusOr<Gathered> gathered = Gather(order.inputs, context);
    if (!gathered.ok()) return gathered.status();
    const Held& element = gathered->element;
    const Range range{element.first_place,
                      element.first_place + static_cast<std::int64_t>(element.values.size())};
    const bool covers = ElementWise()
                            ? range.begin < range.end && element.whole()
                            : range.begin == 0 && range.end == job_.Places() && element.whole();
    if (element.iteration != order.iteration || !covers) {
      return WrongLoopSection(absl::StrCat("an element of ", element.values.size(), " places from ",
                                           element.first_place, " of iteration ", element.iteration,
                                           "; expected ", job_.Places(), " of iteration ",
                                           order.iteration));
    }
    const Range made = ElementWise() ? range : Range{0, job_.StatePlaces()};
    if (order.iteration > 0 || gathered->has_state) {
      absl::Status status = CheckState(*gathered, order.iteration - 1, made);
      if (!status.ok()) return status;
    }
    std::vector<Place> next(static_cast<std::size_t>(made.end - made.begin), Place{});
    const absl::StatusOr<LoopOutcome> outcome =
        Updated(order.iteration, made.begin, gathered->state.values, element.values, next);
    if (!outcome.ok()) return outcome.status();
    if (made.begin == 0) {
      report = LoopReport{order.iteration, outcome->measure, std::string(Job::kMeasure),
                          outcome->converged};
    }
    return WriteState(order.iteration, made.begin, next, order.num_consumers, StepTotals(), sink);
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder order, RunSink&, StepContext&) override {
    return absl::InternalError(
        absl::StrCat("reduce layer ", order.layer, " of a loop is not an inner one"));
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext& context) override {
    absl::StatusOr<Gathered> gathered = Gather(order.inputs, context);
    if (!gathered.ok()) return gathered.status();
    const Held& state = gathered->state;
    const Range part{state.first_place,
                     state.first_place + static_cast<std::int64_t>(state.values.size())};
    absl::Status status =
        CheckState(*gathered, state.iteration, ElementWise() ? part : Range{0, job_.StatePlaces()});
    if (!status.ok()) return status;
    std::string text;
    if constexpr (ElementWise()) {
      job_.Format(part.begin, absl::MakeConstSpan(state.values), text);
    } else {
      job_.Format(state.values, text);
    }
    const auto lines = static_cast<std::int64_t>(std::count(text.begin(), text.end(), '\n'));
    status = sink.Append(text, lines);
    if (!status.ok()) return status;
    return StepTotals{static_cast<std::int64_t>(state.values.size()), lines};
  }

  std::int64_t num_places(int) const override {
    return std::max(job_.Places(), job_.StatePlaces());
  }

 private:
  static constexpr auto kPlaceBytes = static_cast<std::int64_t>(sizeof(Place));
  using Inputs = std::vector<std::unique_ptr<RunSource>>;
  using Resident = typename Job::Resident;

  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  // Places of an element or of a state. Some in between may be held by nobody here.
  struct Held {
    std::vector<Place> values;
    std::vector<bool> held;  // by place of `values`
    std::int64_t first_place = 0;
    std::int32_t iteration = -1;

    bool whole() const { return std::find(held.begin(), held.end(), false) == held.end(); }
  };

  // What the inputs of a step hold: part of an element, folded in the order of the inputs, of a
  // state, or of both.
  struct Gathered {
    Held element;
    bool has_state = false;
    Held state;
  };

  static constexpr bool ElementWise() {
    if constexpr (requires { Job::kElementWise; }) {
      return Job::kElementWise;
    } else {
      return false;
    }
  }

  absl::StatusOr<LoopOutcome> Updated(std::int32_t iteration, std::int64_t first_place,
                                      absl::Span<const Place> state,
                                      absl::Span<const Place> element,
                                      std::vector<Place>& next) const {
    if constexpr (ElementWise()) {
      return job_.Update(iteration, first_place, state, element, absl::MakeSpan(next));
    } else {
      (void)first_place;
      return job_.Update(iteration, state, element, absl::MakeSpan(next));
    }
  }

  // Takes records for a slot; the reader calls Map.
  struct Loader {
    using Reader = typename Job::Reader;
    Job& job;
    Resident& resident;
    template <typename Record, typename Emit>
    void Map(const Record& record, Emit& emit) {
      job.Load(record, resident, emit);
    }
  };

  static std::string_view BytesOf(absl::Span<const Place> places) {
    return {reinterpret_cast<const char*>(places.data()), places.size() * sizeof(Place)};
  }
  static std::vector<Place> PlacesOf(const std::string& bytes) {
    std::vector<Place> places(bytes.size() / sizeof(Place));
    if (!places.empty()) std::memcpy(places.data(), bytes.data(), bytes.size());
    return places;
  }

  absl::Status CheckMemory(std::int64_t resident_bytes, int num_slots, StepContext& context) const {
    if (context.memory_bytes() <= 0) return absl::OkStatus();
    const std::int64_t elements =
        (num_slots * job_.Places() + 2 * job_.StatePlaces()) * kPlaceBytes;
    const std::int64_t allowed = std::max<std::int64_t>(context.memory_bytes() - elements, 0);
    if (resident_bytes <= allowed) return absl::OkStatus();
    return StepErrorStatus(
        absl::StatusCode::kResourceExhausted,
        {std::string(step_error::kOutOfMemory),
         absl::StrCat("the input that stays between iterations needs more than the ", allowed,
                      " bytes that the step may use for it"),
         "use more workers, or workers with more memory: each keeps its part of the input", "", 0});
  }

  absl::Status Load(const MapOrder& order, StepContext& context, StepTotals& totals) {
    const int num_slots = context.slots().num_slots();
    residents_.clear();
    residents_.resize(static_cast<std::size_t>(num_slots));
    const auto pieces = SplitRanges(order.ranges, num_slots);
    std::vector<std::int64_t> records(residents_.size(), 0);
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const auto at = static_cast<std::size_t>(slot);
      Job job = job_;
      Loader loader{job, residents_[at]};
      EmitBase<Job> emit;
      emit.AskBeforeRejecting(context);
      absl::Status loaded = MapRanges(loader, pieces[at], emit, context, stop, [&] {
        return CheckMemory(residents_[at].memory_bytes() * num_slots, num_slots, context);
      });
      ReportCounters<Job>(emit, context);
      records[at] = emit.records();
      return loaded;
    });
    for (const std::int64_t count : records) totals.input_records += count;
    return status;
  }

  absl::StatusOr<StepTotals> MapResident(std::int32_t iteration, absl::Span<const Place> state,
                                         absl::Span<const double> consumer_key_end,
                                         StepTotals totals, RunSink& sink, StepContext& context) {
    std::vector<std::vector<Place>> elements(residents_.size());
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>&) {
      const auto at = static_cast<std::size_t>(slot);
      if (at >= residents_.size()) return absl::OkStatus();
      elements[at].assign(static_cast<std::size_t>(job_.Places()), Place{});
      job_.Map(iteration, residents_[at], state, absl::MakeSpan(elements[at]));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    for (std::size_t at = 1; at < elements.size(); ++at) {
      job_.Combine(iteration, absl::MakeSpan(elements[0]), elements[at]);
    }
    Held made;
    made.values = std::move(elements[0]);
    made.held.assign(made.values.size(), true);
    made.iteration = iteration;
    return WriteElement(made, consumer_key_end, totals, sink);
  }

  // Places of an element that several inputs hold are combined in the order of the inputs, one of
  // which is in memory at a time; each place of a state has one input.
  absl::StatusOr<Gathered> Gather(const Inputs& inputs, StepContext& context) const {
    Gathered gathered;
    for (const std::unique_ptr<RunSource>& input : inputs) {
      absl::StatusOr<std::vector<LoopSection>> pieces = ReadLoopSection(*input, kPlaceBytes);
      if (!pieces.ok()) return pieces.status();
      if (absl::Status fits = CheckGathered(gathered, *pieces, context); !fits.ok()) return fits;
      for (LoopSection& piece : *pieces) {
        const bool is_state = piece.content == LoopContent::kState;
        const std::int64_t expected = is_state ? job_.StatePlaces() : job_.Places();
        if (piece.places != expected) {
          return WrongLoopSection(absl::StrCat(is_state ? "a state of " : "an element of ",
                                               piece.places, " places, expected ", expected));
        }
        gathered.has_state = gathered.has_state || is_state;
        absl::Status joined = is_state ? Join(piece, /*combines=*/false, gathered.state)
                                       : Join(piece, /*combines=*/true, gathered.element);
        if (!joined.ok()) return joined;
      }
    }
    return gathered;
  }

  absl::Status CheckGathered(const Gathered& gathered, const std::vector<LoopSection>& pieces,
                             StepContext& context) const {
    if (context.memory_bytes() <= 0) return absl::OkStatus();
    std::int64_t bytes =
        static_cast<std::int64_t>(gathered.element.values.size() + gathered.state.values.size()) *
        kPlaceBytes;
    for (const LoopSection& piece : pieces) bytes += static_cast<std::int64_t>(piece.bytes.size());
    for (const Resident& resident : residents_) bytes += resident.memory_bytes();
    if (bytes <= context.memory_bytes()) return absl::OkStatus();
    return StepErrorStatus(
        absl::StatusCode::kResourceExhausted,
        {std::string(step_error::kOutOfMemory),
         absl::StrCat("what the step holds of the input, of partial results and of the state are ",
                      bytes, " bytes, and it may hold ", context.memory_bytes()),
         "use workers with more memory; more workers keep less of the input each, but all of the "
         "state",
         "", 0});
  }

  // Gives the memory of the section back.
  absl::Status Join(LoopSection& section, bool combines, Held& joined) const {
    if (joined.values.empty()) {
      joined.iteration = section.iteration;
      joined.first_place = section.first_place;
    }
    if (section.iteration != joined.iteration) {
      return WrongLoopSection("elements or states of two iterations");
    }
    const std::vector<Place> places = PlacesOf(section.bytes);
    std::string().swap(section.bytes);
    Cover(section.first_place, static_cast<std::int64_t>(places.size()), section.places, joined);
    const auto first = static_cast<std::size_t>(section.first_place - joined.first_place);
    const auto held = joined.held.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end_of_held = held + static_cast<std::ptrdiff_t>(places.size());
    if (!combines && std::find(held, end_of_held, true) != end_of_held) {
      return WrongLoopSection("two states at once");
    }
    FoldSection(joined.iteration, places, first, joined);
    return absl::OkStatus();
  }

  // Makes `joined` reach over `count` places from `first` on, of `all` that there are.
  static void Cover(std::int64_t first, std::int64_t count, std::int64_t all, Held& joined) {
    if (first < joined.first_place) {
      const auto missing = static_cast<std::size_t>(joined.first_place - first);
      joined.values.insert(joined.values.begin(), missing, Place{});
      joined.held.insert(joined.held.begin(), missing, false);
      joined.first_place = first;
    }
    const auto reach = static_cast<std::size_t>(first + count - joined.first_place);
    if (reach <= joined.values.size()) return;
    // Of what nobody writes to the kernel keeps no memory; moving it would take twice as much.
    joined.values.reserve(static_cast<std::size_t>(all - joined.first_place));
    joined.values.resize(reach, Place{});
    joined.held.resize(reach, false);
  }

  void FoldSection(std::int32_t iteration, const std::vector<Place>& from, std::size_t first,
                   Held& joined) const {
    std::vector<bool>& held = joined.held;
    std::size_t at = 0;
    while (at < from.size()) {
      const bool combines = held[first + at];
      std::size_t to = at;
      while (to < from.size() && held[first + to] == combines) ++to;
      const absl::Span<const Place> slice = absl::MakeConstSpan(from).subspan(at, to - at);
      const absl::Span<Place> into = absl::MakeSpan(joined.values).subspan(first + at, to - at);
      if (combines) {
        job_.Combine(iteration, into, slice);
      } else {
        std::copy(slice.begin(), slice.end(), into.begin());
      }
      std::fill(held.begin() + static_cast<std::ptrdiff_t>(first + at),
                held.begin() + static_cast<std::ptrdiff_t>(first + to), true);
      at = to;
    }
  }

  absl::Status CheckState(const Gathered& gathered, std::int32_t iteration,
                          const Range& range) const {
    const Held& state = gathered.state;
    if (gathered.has_state && state.iteration == iteration && state.whole() &&
        state.first_place == range.begin &&
        static_cast<std::int64_t>(state.values.size()) == range.end - range.begin) {
      return absl::OkStatus();
    }
    return WrongLoopSection(absl::StrCat("a state of ", state.values.size(), " places from ",
                                         state.first_place, " of iteration ", state.iteration,
                                         "; expected ", range.end - range.begin, " from ",
                                         range.begin, " of iteration ", iteration));
  }

  // Only places that are held: consumers say where their range ends, not where it begins.
  absl::StatusOr<StepTotals> WriteElement(const Held& made,
                                          absl::Span<const double> consumer_key_end,
                                          StepTotals totals, RunSink& sink) const {
    const std::int64_t first = made.first_place;
    const std::int64_t end = first + static_cast<std::int64_t>(made.values.size());
    const auto held = [&](std::int64_t place) {
      return made.held[static_cast<std::size_t>(place - first)];
    };
    const auto ranges = ConsumerPlaces(consumer_key_end, num_places(0), first, end);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      bool begun = false;
      for (std::int64_t at = ranges[i].first, to = at; at < ranges[i].second; at = to) {
        for (++to; to < ranges[i].second && held(to) == held(at);) ++to;
        if (!held(at)) continue;
        const LoopSection piece{LoopContent::kElement, made.iteration, job_.Places(), at, {}};
        const auto slice =
            absl::MakeConstSpan(made.values)
                .subspan(static_cast<std::size_t>(at - first), static_cast<std::size_t>(to - at));
        absl::Status status =
            std::exchange(begun, true) ? absl::OkStatus() : sink.BeginSection(static_cast<int>(i));
        if (status.ok()) status = WriteLoopSection(piece, BytesOf(slice), kPlaceBytes, sink);
        if (!status.ok()) return status;
        totals.output_records += to - at;
      }
    }
    return totals;
  }

  absl::StatusOr<StepTotals> WriteState(std::int32_t iteration, std::int64_t first_place,
                                        absl::Span<const Place> state, int num_consumers,
                                        StepTotals totals, RunSink& sink) const {
    const LoopSection section{LoopContent::kState, iteration, job_.StatePlaces(), first_place, {}};
    for (int consumer = 0; consumer < num_consumers; ++consumer) {
      absl::Status status = sink.BeginSection(consumer);
      if (status.ok()) status = WriteLoopSection(section, BytesOf(state), kPlaceBytes, sink);
      if (!status.ok()) return status;
      totals.output_records += static_cast<std::int64_t>(state.size());
    }
    return totals;
  }

  const Job job_;
  std::vector<Resident> residents_;  // by slot
  bool loaded_ = false;
};

/// Instantiates the engine for a loop.
template <typename Job>
std::unique_ptr<JobProgram> MakeLoopProgram(Job job) {
  // Where a job breaks a rule, the sentence about it is all that the compiler shall say.
  if constexpr (loop_rules::Check<Job>()) {
    return std::make_unique<LoopProgram<Job>>(std::move(job));
  } else {
    return nullptr;
  }
}

}  // namespace weir
