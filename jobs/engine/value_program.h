#pragma once

// Runs a job whose result is one value: a sketch, a matrix, a set. Upstream: jobs/<job>.
// Downstream: section_blocks.h, RunSink, PartSink.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "jobs/api/element.h"
#include "jobs/api/program.h"
#include "jobs/api/readers.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/map_ranges.h"
#include "jobs/engine/operation_check.h"
#include "jobs/engine/part_text.h"
#include "jobs/engine/rules/value_rules.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/value_memory.h"
#include "jobs/engine/table/value_pieces.h"

namespace weir {

namespace value_internal {

/// Deals the records of the beginning of the input to three values, in turn.
template <typename Job>
struct DealRecords {
  using Reader = typename Job::Reader;
  Job job;
  std::array<typename Job::Value, 3> values;
  std::size_t records = 0;

  template <typename Record, typename Emit>
  void Map(const Record& record, Emit& emit) {
    job.Map(record, values[records++ % values.size()], emit);
  }
};

/// As CheckVectorOperation, for values: they are compared by the bytes that would be sent, or,
/// where another grouping may round otherwise, by the job's Alike.
template <typename Job>
absl::Status CheckOperation(const Job& job, absl::Span<const InputRange> ranges,
                            StepContext& context) {
  using Value = typename Job::Value;
  const Value neutral = NeutralOf(job);
  DealRecords<Job> deal{job, {neutral, neutral, neutral}};
  EmitBase<Job> emit;
  operation_internal::MapBeginning<typename Job::Reader>(ranges, deal, emit, context);
  if (deal.records < deal.values.size() || emit.bad()) return absl::OkStatus();
  const auto folded = [&job](Value into, const Value& from) {
    job.Combine(into, from);
    return into;
  };
  const auto same = [](const Value& a, const Value& b) {
    return operation_internal::Encoded(a) == operation_internal::Encoded(b);
  };
  const auto alike = [&](const Value& a, const Value& b) {
    if constexpr (requires { job.Alike(a, b); }) {
      return job.Alike(a, b);
    } else {
      return same(a, b);
    }
  };
  const auto& [a, b, c] = deal.values;
  const Value ab = folded(a, b);
  if (IsCommutative<Job>() && !same(ab, folded(b, a))) {
    return operation_internal::Lies(
        step_error::kNotCommutative,
        "the job says that its Combine is commutative, but two partial results combine to other "
        "bytes in the order of the input than in the other",
        "take kCommutative out of the job, or make Combine give the same both ways");
  }
  if (!alike(folded(ab, c), folded(a, folded(b, c)))) {
    return operation_internal::Lies(
        step_error::kNotAssociative,
        "Combine must be associative, but three partial results combine to one value from the left "
        "and to another from the right",
        "make Combine give the same however operands are grouped, or say in Alike(a, b) which "
        "values only rounding tells apart");
  }
  if constexpr (SplitsItsValue<Job>) {
    const std::int64_t places = job.Places();
    const std::int64_t half = places / 2;
    Value parts = folded(job.Split(a, 0, half), job.Split(b, 0, half));
    job.Join(parts, folded(job.Split(a, half, places), job.Split(b, half, places)));
    if (!same(ab, parts)) {
      return operation_internal::Lies(
          step_error::kDoesNotSplit,
          absl::StrCat("two halves of ", places,
                       " places, combined one by one and joined, are not what the whole values "
                       "combine to"),
          "make Split, Combine and Join agree, or leave out Places, Split and Join: the value then "
          "only combines whole");
    }
  }
  if constexpr (requires { job.Neutral(); }) {
    if (!same(folded(neutral, a), a) || !same(folded(a, neutral), a)) {
      return operation_internal::Lies(step_error::kNotNeutral,
                                      "Combine with Neutral changes a partial result",
                                      "make Neutral the identity of Combine");
    }
  }
  return absl::OkStatus();
}

}  // namespace value_internal

/// JobProgram of a job with one layer whose element is one value.
///
/// Model: a job is a copyable class; each slot maps with a copy of its own, the rest is const.
///
///   using Reader = TextLines | CsvRows | FixedRecords<N> | Block<Delimiter>;  as for other jobs
///   using Value = ...;                       with a ValueCodec; count its heap (value_memory.h)
///   std::int64_t ValueBytes() const;         about how many bytes of a value are sent, >= 1
///   void Map(record, Value& value, Emit& emit);   emit.Reject(record, reason), emit.Increment(i)
///   void Combine(Value& into, const Value& from) const;   associative; where the value splits,
///                                            also of pieces of the same places
///   void Format(std::int64_t begin, const Value& value, std::string& out) const;   the part, whose
///                                            first place is `begin`
///   Value Neutral() const;                   optional: what a value is before the first record;
///                                            Combine with it must change nothing. Else Value{}
///   bool Alike(const Value& a, const Value& b) const;   optional: same but for rounding
///   static constexpr bool kCommutative = true;   optional: any order of operands gives the same
///   static constexpr bool kOneReducer = true;   optional: Format needs all places, so there is one
///                                            reducer, though pieces combine one by one
///   static constexpr std::array<std::string_view, n> kCounters;
///
/// and, for a value that combines piece by piece, all three of
///
///   std::int64_t Places() const;             places of the value, the same on every worker, >= 1
///   Value Split(const Value& value, std::int64_t begin, std::int64_t end) const;   the piece of
///   the
///                                            places [begin, end), counted from the value's (or
///                                            piece's) first
///   void Join(Value& into, const Value& next) const;   appends the piece of the places behind
///
/// A value without them is one segment: it travels whole, and such a job has one reducer.
/// Order: as vector_program.h. Where nothing was read nothing is combined.
/// Bounds: one value a slot while mapping, beyond StepContext::memory_bytes OUT_OF_MEMORY, as far
/// as
///   the value says what it holds; combining and reducing hold the result and one operand.
/// Errors: kDataLoss for sections that hold no pieces of such a value and for places that are
///   missing; kInvalidArgument for several reducers of a job that has one; NOT_COMMUTATIVE and
///   others for an operation that is not what it is declared to be (operation_check.h).
/// Checked by: tests/unit/jobs/value_program_test.cc.
template <typename Job>
class ValueProgram : public JobProgram {
 public:
  using Value = typename Job::Value;
  static_assert(SplitsItsValue<Job> || !value_internal::NamesSplitOrJoin<Job>,
                "A job whose value splits needs all of: std::int64_t Places() const, "
                "Value Split(const Value&, std::int64_t begin, std::int64_t end) const and "
                "void Join(Value& into, const Value& next) const. A value that only combines whole "
                "has none of them.");

  explicit ValueProgram(Job job) : job_(std::move(job)), places_(value_internal::PlacesOf(job_)) {}

  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    if (absl::Status status = CheckPlaces(); !status.ok()) return status;
    if (context.checks_operation() && TriesVectorsOf(job_.ValueBytes(), context)) {
      absl::Status tried = value_internal::CheckOperation(job_, order.ranges, context);
      if (!tried.ok()) return tried;
    }
    const int num_slots = context.slots().num_slots();
    const auto pieces = SplitRanges(order.ranges, num_slots);
    std::vector<SlotValue> values(static_cast<std::size_t>(num_slots));
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const auto at = static_cast<std::size_t>(slot);
      return MapPieces(pieces[at], values[at], context, stop);
    });
    if (!status.ok()) return status;
    StepTotals totals;
    value_internal::FoldedPieces<Job> folded(job_);
    for (SlotValue& value : values) {
      totals.input_records += value.records;
      folded.Add({0, places_, value.touched, std::move(value.value)});
    }
    status = Write(folded, order.consumer_key_end, sink, totals);
    if (!status.ok()) return status;
    return totals;
  }

  absl::StatusOr<StepTotals> Combine(CombineOrder order, RunSink& sink,
                                     StepContext& context) override {
    if (absl::Status status = CheckLayer(order.layer); !status.ok()) return status;
    StepTotals totals;
    value_internal::FoldedPieces<Job> folded(job_);
    absl::Status status = Fold(order.inputs, context, folded, totals);
    if (status.ok()) status = Write(folded, order.consumer_key_end, sink, totals);
    if (!status.ok()) return status;
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext& context) override {
    if (absl::Status status = CheckLayer(order.layer); !status.ok()) return status;
    StepTotals totals;
    value_internal::FoldedPieces<Job> folded(job_);
    if (absl::Status status = Fold(order.inputs, context, folded, totals); !status.ok()) {
      return status;
    }
    std::vector<PieceOf> pieces = folded.Take(0, places_);
    if (pieces.empty()) return totals;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i].begin == pieces[i - 1].end) continue;
      return absl::DataLossError(absl::StrCat("places ", pieces[i - 1].end, " to ",
                                              pieces[i].begin - 1, " of the value are missing"));
    }
    const std::int64_t begin = pieces[0].begin;
    if (value_internal::HasOneReducer<Job>() && (begin > 0 || pieces.back().end < places_)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the job's result is made of the whole value, and the plan gives a reducer "
          "places [",
          begin, ", ", pieces.back().end, ") of ", places_, "; run it with one reducer"));
    }
    Value whole = WithValue(std::move(pieces[0]));
    if constexpr (SplitsItsValue<Job>) {
      for (std::size_t i = 1; i < pieces.size(); ++i) {
        job_.Join(whole, WithValue(std::move(pieces[i])));
      }
    }
    PartText text(sink);
    absl::Status status = text.Add([&](std::string& out) { job_.Format(begin, whole, out); });
    if (status.ok()) status = text.Flush();
    if (!status.ok()) return status;
    totals.output_records = text.records();
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder order, RunSink&, StepContext&) override {
    return absl::InternalError(
        absl::StrCat("reduce layer ", order.layer, " of a value, which has one, makes no run"));
  }

  std::int64_t num_places(int) const override { return places_; }

 private:
  using PieceOf = value_internal::Piece<Value>;
  using Inputs = std::vector<std::unique_ptr<RunSource>>;

  struct SlotValue {
    Value value;
    bool touched = false;  // by a record
    std::int64_t records = 0;
  };

  // The key of a piece in a section.
  struct PieceHead {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t places = 0;
    std::int64_t touched = 0;
  };

  // What the reader calls: the author's Map with the value beside the record.
  struct MapInto {
    using Reader = typename Job::Reader;
    Job job;
    SlotValue& value;

    template <typename Record, typename Emit>
    void Map(const Record& record, Emit& emit) {
      value.touched = true;
      job.Map(record, value.value, emit);
    }
  };

  absl::Status CheckPlaces() const {
    if (places_ >= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the job's value has ", places_, " places; it must have at least 1"));
  }

  absl::Status CheckLayer(int layer) const {
    if (layer == 1) return CheckPlaces();
    return absl::InternalError(absl::StrCat("layer ", layer, " of a value, which has one"));
  }

  absl::Status MapPieces(const std::vector<InputRange>& pieces, SlotValue& value,
                         StepContext& context, const std::function<bool()>& stop) const {
    if (pieces.empty()) return absl::OkStatus();
    value.value = value_internal::NeutralOf(job_);
    EmitBase<Job> emit;
    emit.AskBeforeRejecting(context);
    MapInto job{job_, value};
    absl::Status status = MapRanges(job, pieces, emit, context, stop, [&] {
      return CheckSlotMemory(ValueMemory<Value>::HeapBytes(value.value), 0,
                             context.slots().num_slots(), "the value of one slot", context);
    });
    ReportCounters<Job>(emit, context);
    value.records = emit.records();
    return status;
  }

  // Of what no record has touched the neutral value.
  Value WithValue(PieceOf piece) const {
    if (piece.touched) return std::move(piece.value);
    Value neutral = value_internal::NeutralOf(job_);
    if constexpr (SplitsItsValue<Job>) {
      if (piece.begin > 0 || piece.end < places_) {
        return job_.Split(neutral, piece.begin, piece.end);
      }
    }
    return neutral;
  }

  absl::Status Fold(const Inputs& inputs, StepContext& context,
                    value_internal::FoldedPieces<Job>& folded, StepTotals& totals) const {
    for (const auto& input : inputs) {
      SectionReader reader(*input);
      SectionRecord record;
      while (true) {
        if (context.cancelled()) return absl::CancelledError("the job is being ended");
        const absl::StatusOr<bool> more = reader.Next(record);
        if (!more.ok()) return more.status();
        if (!*more) break;
        PieceOf piece;
        if (absl::Status status = Read(record, piece); !status.ok()) return status;
        const std::int64_t held_bytes = ValueMemory<Value>::HeapBytes(piece.value);
        absl::Status room =
            CheckSlotMemory(held_bytes, held_bytes, 1, "the values of two operands", context);
        if (!room.ok()) return room;
        ++totals.input_records;
        folded.Add(std::move(piece));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Read(const SectionRecord& record, PieceOf& piece) const {
    std::string_view key = record.key;
    std::string_view value = record.value;
    PieceHead head;
    if (!ValueCodec<PieceHead>::Take(key, head) || !key.empty()) return DamagedSection();
    if (head.places != places_) {
      return absl::DataLossError(absl::StrCat("section of a run is damaged: a value of ",
                                              head.places, " places, expected ", places_));
    }
    if (head.begin < 0 || head.begin >= head.end || head.end > places_) {
      return absl::DataLossError(absl::StrCat("section of a run is damaged: places [", head.begin,
                                              ", ", head.end, ") of ", places_));
    }
    piece = {head.begin, head.end, head.touched != 0};
    if (piece.touched && !ValueCodec<Value>::Take(value, piece.value)) return DamagedSection();
    return value.empty() ? absl::OkStatus() : DamagedSection();
  }

  absl::Status Write(value_internal::FoldedPieces<Job>& folded,
                     absl::Span<const double> consumer_key_end, RunSink& sink,
                     StepTotals& totals) const {
    SectionWriter writer(sink);
    std::int64_t begin = 0;
    std::string key, bytes;
    for (std::size_t i = 0; i < consumer_key_end.size(); ++i) {
      const bool last = i + 1 == consumer_key_end.size();
      const std::int64_t end =
          last ? places_
               : std::clamp<std::int64_t>(
                     std::llround(consumer_key_end[i] * static_cast<double>(places_)), begin,
                     places_);
      bool begun = false;
      for (const PieceOf& piece : folded.Take(begin, end)) {
        if (!std::exchange(begun, true)) {
          absl::Status status = writer.Begin(static_cast<int>(i));
          if (!status.ok()) return status;
        }
        key.clear();
        bytes.clear();
        ValueCodec<PieceHead>::Append({piece.begin, piece.end, places_, piece.touched ? 1 : 0},
                                      key);
        if (piece.touched) ValueCodec<Value>::Append(piece.value, bytes);
        if (absl::Status status = writer.Add(key, bytes); !status.ok()) return status;
      }
      begin = end;
    }
    totals.output_records = writer.records();
    return writer.Finish();
  }

  const Job job_;
  const std::int64_t places_;
};

/// Instantiates the engine for a job whose result is one value, in the author's translation unit.
/// Example: jobs/topwords/topwords.cc.
template <typename Job>
std::unique_ptr<JobProgram> MakeValueProgram(Job job) {
  // Where a job breaks a rule, the sentence about it is all that the compiler shall say.
  if constexpr (value_rules::Check<Job>()) {
    return std::make_unique<ValueProgram<Job>>(std::move(job));
  } else {
    return nullptr;
  }
}

/// What such a job can combine, for JobDefinition::Element.
template <typename Job>
ElementInfo ValueElement(const Job& job) {
  ElementInfo element;
  element.kind = ElementKind::kVector;
  element.places = value_internal::PlacesOf(job);
  element.place_bytes =
      std::max<std::int64_t>(1, (job.ValueBytes() + element.places - 1) / element.places);
  element.commutative = IsCommutative<Job>();
  element.splits = SplitsItsValue<Job>;
  element.one_reducer = !element.splits || value_internal::HasOneReducer<Job>();
  return element;
}

}  // namespace weir
