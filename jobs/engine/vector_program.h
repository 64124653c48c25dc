#pragma once

// Runs a job whose result is one vector: a value for each place, as many for every worker.
// Upstream: jobs/<job>. Downstream: vector/vector_blocks.h, RunSink, PartSink.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "jobs/api/element.h"
#include "jobs/api/program.h"
#include "jobs/api/readers.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/map_ranges.h"
#include "jobs/engine/operation_check.h"
#include "jobs/engine/part_text.h"
#include "jobs/engine/rules/vector_rules.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/vector/vector_blocks.h"

namespace weir {

namespace vector_internal {

template <typename Job>
constexpr bool Splits() {
  if constexpr (requires { Job::kSplits; }) {
    return Job::kSplits;
  } else {
    return true;
  }
}

/// Folds `from` into `into`, places of the same range, by either form of the author's Combine.
template <typename Job>
void Combine(const Job& job, absl::Span<typename Job::Place> into,
             absl::Span<const typename Job::Place> from) {
  if constexpr (requires { job.Combine(into, from); }) {
    job.Combine(into, from);
  } else {
    for (std::size_t i = 0; i < into.size(); ++i) job.Combine(into[i], from[i]);
  }
}

template <typename Job>
typename Job::Place Neutral(const Job& job, std::int64_t place) {
  if constexpr (requires { job.Neutral(place); }) {
    return job.Neutral(place);
  } else {
    return typename Job::Place{};
  }
}

}  // namespace vector_internal

/// JobProgram of a job with one layer whose element is a vector.
///
/// Model: a job is a copyable class; each slot maps with a copy of its own, the rest is const.
///
///   using Reader = TextLines | CsvRows | FixedRecords<N> | Block<Delimiter>;  as for other jobs;
///                                            with Block, Map says emit.CountRecords(n)
///   using Place = double | std::int64_t | ...;  trivially copyable, not bool
///   std::int64_t Places() const;             places of the vector, the same on every worker, >= 1
///   void Map(record, absl::Span<Place> element, Emit& emit);   changes any places of the element;
///                                            emit.Reject(record, reason), emit.Increment(i)
///   either void Combine(Place& into, const Place& from) const;                      associative
///   or     void Combine(absl::Span<Place> into, absl::Span<const Place> from) const;  of any range
///   either void Format(std::int64_t place, const Place& value, std::string& out) const;
///   or     void FormatAll(absl::Span<const Place> values, std::string& out) const;  of the part
///   Place Neutral(std::int64_t place) const;   optional: what places hold before the first record;
///                                              Combine with it must change nothing. Else Place{}
///   bool Alike(const Place& a, const Place& b) const;  optional, for structs: same but for
///   rounding static constexpr bool kCommutative = true; optional: any order of operands gives the
///   same static constexpr bool kSplits = false;     optional: elements only combine whole (a
///   product of
///                                              matrices); such a job has one reducer
///   static constexpr std::array<std::string_view, n> kCounters;
///
/// Order: elements are combined in the order of the input, whatever the number of slots, mappers
/// and
///   combine steps. Where nothing was read (a mapper or slot without records) nothing is combined,
///   not even what is neutral, so that it cannot change a result; places that no record of the
///   whole job could touch come out neutral. Floating point: Combine sees values as they are, NaN
///   and infinities too, and what it makes of them is kept to the bit; the grouping, and with it
///   rounding, depends on the cuts.
/// Bounds: one vector a slot while mapping; beyond StepContext::memory_bytes the step fails with
///   OUT_OF_MEMORY. Combining and reducing hold one block an input, or, with kSplits = false, two
///   vectors; FormatAll the values of its part.
/// What the job declares is tried on the first records, unless the step is told not to
///   (operation_check.h).
/// Errors: kDataLoss for sections of vectors with another number of places, and for places that are
///   missing in front of the reducer; kInvalidArgument for a job without places, and for ranges of
///   an element that does not split.
/// Checked by: tests/unit/jobs/vector_program_test.cc.
template <typename Job>
class VectorProgram : public JobProgram {
 public:
  using Place = typename Job::Place;
  static_assert(alignof(Place) <= alignof(std::max_align_t),
                "The Place of a vector is not aligned more than memory is by itself.");
  static_assert(sizeof(Place) <= kBlockBytesMax / 2,
                "The Place of a vector has at most 512 KiB: a block holds whole places.");

  explicit VectorProgram(Job job) : job_(std::move(job)), form_{job_.Places(), sizeof(Place)} {}

  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    if (absl::Status status = CheckForm(); !status.ok()) return status;
    const int num_slots = context.slots().num_slots();
    const std::int64_t vector_bytes = form_.places * form_.place_bytes;
    absl::Status status =
        CheckSlotMemory(vector_bytes, 0, num_slots, "the vector of one slot", context);
    if (!status.ok()) return status;
    if (context.checks_operation() && TriesVectorsOf(vector_bytes, context)) {
      if (status = CheckOperation(order.ranges, context); !status.ok()) return status;
    }
    const auto pieces = SplitRanges(order.ranges, num_slots);
    std::vector<SlotVector> vectors(static_cast<std::size_t>(num_slots));
    status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const auto at = static_cast<std::size_t>(slot);
      return MapPieces(pieces[at], vectors[at], context, stop);
    });
    if (!status.ok()) return status;
    StepTotals totals;
    for (const SlotVector& vector : vectors) totals.input_records += vector.records;
    SlotVector* merged = nullptr;
    if (status = MergeSlots(vectors, context, merged); !status.ok()) return status;
    VectorWriter writer(sink, form_, order.consumer_key_end);
    if (status = CheckWhole(writer); !status.ok()) return status;
    const char* values =
        merged == nullptr ? nullptr : reinterpret_cast<const char*>(merged->values.data());
    status = writer.Add({0, form_.places, values});
    if (status.ok()) status = writer.Finish();
    if (!status.ok()) return status;
    totals.output_records = writer.places_written();
    return totals;
  }

  absl::StatusOr<StepTotals> Combine(CombineOrder order, RunSink& sink,
                                     StepContext& context) override {
    if (absl::Status status = CheckLayer(order.layer); !status.ok()) return status;
    VectorWriter writer(sink, form_, order.consumer_key_end);
    if (absl::Status status = CheckWhole(writer); !status.ok()) return status;
    StepTotals totals;
    absl::Status status = Fold(order.inputs, context, totals.input_records,
                               [&writer](const VectorSlice& slice) { return writer.Add(slice); });
    if (status.ok()) status = writer.Finish();
    if (!status.ok()) return status;
    totals.output_records = writer.places_written();
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext& context) override {
    if (absl::Status status = CheckLayer(order.layer); !status.ok()) return status;
    StepTotals totals;
    PartText text(sink);
    std::vector<Place> all;
    std::int64_t next = -1;  // place that must follow
    absl::Status status =
        Fold(order.inputs, context, totals.input_records, [&](const VectorSlice& slice) {
          if (next >= 0 && slice.begin != next) {
            return absl::DataLossError(absl::StrCat("places ", next, " to ", slice.begin - 1,
                                                    " of the element are missing"));
          }
          next = slice.end;
          return FormatSlice(slice, text, all);
        });
    if constexpr (kFormatsAll) {
      if (status.ok() && next >= 0) {
        status = text.Add([&](std::string& out) { job_.FormatAll(absl::MakeSpan(all), out); });
      }
    }
    if (status.ok()) status = text.Flush();
    if (!status.ok()) return status;
    totals.output_records = text.records();
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder order, RunSink&, StepContext&) override {
    return absl::InternalError(
        absl::StrCat("reduce layer ", order.layer, " of a vector, which has one, makes no run"));
  }

  std::int64_t num_places(int) const override { return form_.places; }

 private:
  static constexpr bool kSplits = vector_internal::Splits<Job>();
  static constexpr bool kFormatsAll = requires(const Job& job, std::string& out) {
    job.FormatAll(absl::Span<const Place>(), out);
  };
  using Inputs = std::vector<std::unique_ptr<RunSource>>;

  struct SlotVector {
    std::vector<Place> values;
    bool touched = false;  // by a record
    std::int64_t records = 0;
  };

  // What the reader calls: the author's Map with the element beside the record.
  struct MapInto {
    using Reader = typename Job::Reader;
    Job job;
    SlotVector& vector;

    template <typename Record, typename Emit>
    void Map(const Record& record, Emit& emit) {
      vector.touched = true;
      job.Map(record, absl::MakeSpan(vector.values), emit);
    }
  };

  absl::Status CheckForm() const {
    if (form_.places < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the job's vector has ", form_.places, " places; it must have at least 1"));
    }
    if (form_.places <= std::numeric_limits<std::int64_t>::max() / form_.place_bytes / 1024) {
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(absl::StrCat("a vector of ", form_.places, " places of ",
                                                     form_.place_bytes,
                                                     " bytes fits into no memory"));
  }

  absl::Status CheckLayer(int layer) const {
    if (absl::Status status = CheckForm(); !status.ok()) return status;
    if (layer == 1) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("layer ", layer, " of a vector, which has one"));
  }

  // An element that does not split goes to one consumer.
  absl::Status CheckWhole(const VectorWriter& writer) const {
    if constexpr (kSplits) return absl::OkStatus();
    for (const std::int64_t end : writer.consumer_end()) {
      if (end == 0 || end == form_.places) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the job's elements only combine whole, and the plan cuts them at place ",
                       end, " of ", form_.places, "; run it with one reducer"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckOperation(const std::vector<InputRange>& ranges, StepContext& context) const {
    std::vector<Place> start;
    start.reserve(static_cast<std::size_t>(form_.places));
    AppendNeutral(0, form_.places, start);
    return CheckVectorOperation(job_, start, vector_internal::Combine<Job>, IsCommutative<Job>(),
                                kSplits, ranges, context);
  }

  absl::Status MapPieces(const std::vector<InputRange>& pieces, SlotVector& vector,
                         StepContext& context, const std::function<bool()>& stop) const {
    if (pieces.empty()) return absl::OkStatus();
    vector.values.reserve(static_cast<std::size_t>(form_.places));
    AppendNeutral(0, form_.places, vector.values);
    EmitBase<Job> emit;
    emit.AskBeforeRejecting(context);
    MapInto job{job_, vector};
    absl::Status status =
        MapRanges(job, pieces, emit, context, stop, [] { return absl::OkStatus(); });
    ReportCounters<Job>(emit, context);
    vector.records = emit.records();
    return status;
  }

  void AppendNeutral(std::int64_t begin, std::int64_t end, std::vector<Place>& values) const {
    for (std::int64_t place = begin; place < end; ++place) {
      values.push_back(vector_internal::Neutral(job_, place));
    }
  }

  // Folds all into that of the first slot with records, if there is one.
  absl::Status MergeSlots(std::vector<SlotVector>& vectors, StepContext& context,
                          SlotVector*& merged) const {
    std::vector<SlotVector*> touched;
    for (SlotVector& vector : vectors) {
      if (vector.touched) touched.push_back(&vector);
    }
    if (touched.empty()) return absl::OkStatus();
    merged = touched[0];
    if (touched.size() == 1) return absl::OkStatus();
    const int num_shares = kSplits ? context.slots().num_slots() : 1;
    return RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      if (slot >= num_shares) return absl::OkStatus();
      const auto cut = [&](std::int64_t share) {
        return form_.places / num_shares * share + form_.places % num_shares * share / num_shares;
      };
      const auto begin = static_cast<std::size_t>(cut(slot));
      const std::size_t count = static_cast<std::size_t>(cut(slot + 1)) - begin;
      for (std::size_t i = 1; i < touched.size() && count > 0 && !stop(); ++i) {
        vector_internal::Combine(job_, absl::MakeSpan(merged->values).subspan(begin, count),
                                 absl::MakeConstSpan(touched[i]->values).subspan(begin, count));
      }
      return absl::OkStatus();
    });
  }

  // Calls take(VectorSlice) for rising places with what all inputs give there, in their order.
  template <typename Take>
  absl::Status Fold(const Inputs& inputs, StepContext& context, std::int64_t& places_read,
                    Take&& take) const {
    if constexpr (kSplits) {
      return FoldByPlaces(inputs, context, places_read, take);
    } else {
      return FoldWhole(inputs, context, places_read, take);
    }
  }

  static absl::Span<const Place> ValuesOf(const VectorSlice& slice, std::int64_t count) {
    return {reinterpret_cast<const Place*>(slice.values), static_cast<std::size_t>(count)};
  }

  template <typename Take>
  absl::Status FoldByPlaces(const Inputs& inputs, StepContext& context, std::int64_t& places_read,
                            Take&& take) const {
    std::deque<VectorReader> readers;
    std::vector<VectorReader*> open;  // in the order of the inputs
    for (const auto& input : inputs) {
      VectorReader& reader = readers.emplace_back(*input, form_);
      const absl::StatusOr<bool> more = reader.Next();
      if (!more.ok()) return more.status();
      if (*more) open.push_back(&reader);
    }
    std::vector<Place> folded;
    while (!open.empty()) {
      if (context.cancelled()) return absl::CancelledError("the job is being ended");
      VectorSlice made{form_.places, form_.places, nullptr};
      for (const VectorReader* reader : open) {
        made.begin = std::min(made.begin, reader->slice().begin);
      }
      for (const VectorReader* reader : open) {
        const VectorSlice& slice = reader->slice();
        made.end = std::min(made.end, slice.begin == made.begin ? slice.end : slice.begin);
      }
      const std::int64_t count = made.size();
      for (VectorReader* reader : open) {
        if (reader->slice().begin != made.begin) continue;
        places_read += count;
        if (reader->slice().values == nullptr) {
          // Changes nothing.
        } else if (made.values == nullptr) {
          const absl::Span<const Place> values = ValuesOf(reader->slice(), count);
          folded.assign(values.begin(), values.end());
          made.values = reinterpret_cast<const char*>(folded.data());
        } else {
          vector_internal::Combine(job_, absl::MakeSpan(folded), ValuesOf(reader->slice(), count));
        }
        reader->Drop(count);
      }
      if (absl::Status status = take(made); !status.ok()) return status;
      if (absl::Status status = GoOn(open); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Reads the next block of those whose block is used up; leaves out those at their end.
  static absl::Status GoOn(std::vector<VectorReader*>& open) {
    absl::Status status;
    const auto at_end = [&status](VectorReader* reader) {
      if (reader->slice().size() > 0 || !status.ok()) return false;
      const absl::StatusOr<bool> more = reader->Next();
      if (!more.ok()) status = more.status();
      return more.ok() && !*more;
    };
    open.erase(std::remove_if(open.begin(), open.end(), at_end), open.end());
    return status;
  }

  template <typename Take>
  absl::Status FoldWhole(const Inputs& inputs, StepContext& context, std::int64_t& places_read,
                         Take&& take) const {
    absl::Status status = CheckSlotMemory(2 * form_.places * form_.place_bytes, 0, 1,
                                          "the vectors of two operands", context);
    if (!status.ok()) return status;
    std::vector<Place> folded, next;
    bool any = false;
    for (const auto& input : inputs) {
      if (context.cancelled()) return absl::CancelledError("the job is being ended");
      next.clear();
      std::int64_t read = 0;
      if (status = ReadWhole(*input, next, read); !status.ok()) return status;
      any = any || read > 0;
      places_read += read;
      if (next.empty()) continue;
      if (folded.empty()) {
        folded.swap(next);
      } else {
        vector_internal::Combine(job_, absl::MakeSpan(folded), absl::MakeConstSpan(next));
      }
    }
    if (!any) return absl::OkStatus();
    return take(VectorSlice{
        0, form_.places, folded.empty() ? nullptr : reinterpret_cast<const char*>(folded.data())});
  }

  // `values` stay empty where no record has touched the vector.
  absl::Status ReadWhole(RunSource& input, std::vector<Place>& values, std::int64_t& read) const {
    VectorReader reader(input, form_);
    while (true) {
      const absl::StatusOr<bool> more = reader.Next();
      if (!more.ok()) return more.status();
      if (!*more) break;
      const VectorSlice& slice = reader.slice();
      if (slice.begin != read) return NotWhole(read);
      read = slice.end;
      if (slice.values == nullptr) continue;
      const absl::Span<const Place> block = ValuesOf(slice, slice.size());
      values.insert(values.end(), block.begin(), block.end());
    }
    const auto held = static_cast<std::int64_t>(values.size());
    if (read == 0 && held == 0) return absl::OkStatus();
    if (read == form_.places && (held == 0 || held == read)) return absl::OkStatus();
    return NotWhole(read);
  }

  absl::Status NotWhole(std::int64_t places) const {
    return absl::DataLossError(absl::StrCat("an element of ", places, " places, expected ",
                                            form_.places, ": it only combines whole"));
  }

  absl::Status FormatSlice(const VectorSlice& slice, PartText& text,
                           std::vector<Place>& all) const {
    absl::Span<const Place> values;
    if (slice.values != nullptr) values = ValuesOf(slice, slice.size());
    if constexpr (kFormatsAll) {
      if (slice.values == nullptr) {
        AppendNeutral(slice.begin, slice.end, all);
      } else {
        all.insert(all.end(), values.begin(), values.end());
      }
      return absl::OkStatus();
    } else {
      for (std::int64_t place = slice.begin; place < slice.end; ++place) {
        absl::Status status = text.Add([&](std::string& out) {
          if (slice.values == nullptr) {
            job_.Format(place, vector_internal::Neutral(job_, place), out);
          } else {
            job_.Format(place, values[static_cast<std::size_t>(place - slice.begin)], out);
          }
        });
        if (!status.ok()) return status;
      }
      return absl::OkStatus();
    }
  }

  const Job job_;
  const VectorForm form_;
};

/// Instantiates the engine for a job whose result is a vector, in the author's translation unit.
/// Example: tests/unit/jobs/vector_program_test.cc.
template <typename Job>
std::unique_ptr<JobProgram> MakeVectorProgram(Job job) {
  // Where a job breaks a rule, the sentence about it is all that the compiler shall say.
  if constexpr (vector_rules::Check<Job>()) {
    return std::make_unique<VectorProgram<Job>>(std::move(job));
  } else {
    return nullptr;
  }
}

/// What such a job can combine, for JobDefinition::Element.
template <typename Job>
ElementInfo VectorElement(const Job& job) {
  ElementInfo element;
  element.kind = ElementKind::kVector;
  element.places = job.Places();
  element.place_bytes = sizeof(typename Job::Place);
  element.commutative = IsCommutative<Job>();
  element.splits = vector_internal::Splits<Job>();
  element.one_reducer = !element.splits;
  return element;
}

}  // namespace weir
