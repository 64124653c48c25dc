#include "jobs/stream/stream_program.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/part_text.h"
#include "jobs/engine/sections/merged_sections.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/key_ranges.h"
#include "jobs/stream/contract/aggregate.h"
#include "jobs/stream/input_blocks.h"
#include "jobs/stream/line_groups.h"
#include "jobs/stream/pair_store.h"
#include "jobs/stream/script_run.h"
#include "jobs/stream/surroundings.h"

namespace weir::stream {
namespace {

constexpr std::size_t kFeedBytes = 64 << 10;  // text is handed to scripts in such pieces
// Where a step may use all memory, a combiner runs when a slot holds so much.
constexpr std::int64_t kCombineBytes = 256 << 20;

std::int64_t CountLines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

absl::Status UserError(const std::string& message, const std::string& advice) {
  StepError error;
  error.code = std::string(step_error::kUserError);
  error.message = message;
  error.advice = advice;
  return StepErrorStatus(absl::StatusCode::kFailedPrecondition, error);
}

// Groups of equal keys in a sorted stream of pairs, each through its aggregator.
class AggregateGroups {
 public:
  /// Takes the key and what its values have become.
  using TakeGroup = std::function<absl::Status(std::string_view key, const Aggregator& values)>;

  explicit AggregateGroups(TakeGroup take) : take_(std::move(take)) {}

  absl::Status Add(std::string_view key, std::string_view value) {
    if (aggregator_ == nullptr || key != key_) {
      if (absl::Status ended = Finish(); !ended.ok()) return ended;
      const auto read = ReadAggregateKey(key);
      if (!read.ok()) return Wrong(key, read.status());
      auto aggregator = MakeAggregator(read->type);
      if (!aggregator.ok()) return Wrong(key, aggregator.status());
      aggregator_ = *std::move(aggregator);
      key_.assign(key);
    }
    absl::Status added = aggregator_->Add(value);
    return added.ok() ? added : Wrong(key, added);
  }
  absl::Status Finish() {
    if (aggregator_ == nullptr) return absl::OkStatus();
    const std::unique_ptr<Aggregator> ended = std::move(aggregator_);
    return take_(key_, *ended);
  }

 private:
  static absl::Status Wrong(std::string_view key, const absl::Status& status) {
    return UserError(absl::StrCat(std::string(status.message()), " (key '",
                                  absl::CHexEscape(std::string(key.substr(0, 200))), "')"),
                     "let the mapper write lines TYPE:NAME TAB VALUE for the reducer aggregate");
  }

  const TakeGroup take_;
  std::string key_;
  std::unique_ptr<Aggregator> aggregator_;
};

// Pairs as lines for a script.
class PairFeed {
 public:
  PairFeed(ScriptRun& run, const std::string& separator) : run_(run), separator_(separator) {}

  absl::Status Add(std::string_view key, std::string_view value) {
    last_key_begin_ = text_.size();
    last_key_bytes_ = key.size();
    text_.append(key).append(separator_).append(value).push_back('\n');
    return text_.size() < kFeedBytes ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    if (text_.empty()) return absl::OkStatus();
    absl::Status status =
        run_.Write(text_, std::string_view(text_).substr(last_key_begin_, last_key_bytes_));
    text_.clear();
    return status;
  }

 private:
  ScriptRun& run_;
  const std::string& separator_;
  std::string text_;
  std::size_t last_key_begin_ = 0;
  std::size_t last_key_bytes_ = 0;
};

// One slot of a map step.
class MapSlot {
 public:
  MapSlot(const StreamSpec& spec, const Surroundings& surroundings, const KeyRanges& ranges,
          int num_consumers, StepContext& context, const std::function<bool()>& is_stopped)
      : spec_(spec),
        surroundings_(surroundings),
        ranges_(ranges),
        num_consumers_(num_consumers),
        context_(context),
        is_stopped_(is_stopped),
        identity_(context.identity()),
        combine_at_(CombineAt()),
        store_(MakeStore()) {}

  absl::Status Map(const std::vector<InputRange>& ranges, bool even_if_empty) {
    for (const InputRange& range : ranges) {
      if (absl::Status status = MapRange(range); !status.ok()) return status;
      if (is_stopped_()) return absl::OkStatus();
    }
    if (mapper_ == nullptr && !ran_ && even_if_empty) {
      if (absl::Status status = StartMapper(nullptr); !status.ok()) return status;
    }
    if (absl::Status status = EndMapper(); !status.ok()) return status;
    store_->Sort();
    if (spec_.combining == Combining::kNone) return absl::OkStatus();
    if (absl::Status status = Combine(); !status.ok()) return status;
    store_->Sort();
    return absl::OkStatus();
  }

  SpillingPairs& pairs() { return store_->pairs(); }
  std::int64_t records() const { return records_; }

 private:
  std::unique_ptr<PairStore> MakeStore() const {
    return std::make_unique<PairStore>(spec_, ranges_, num_consumers_, identity_.index_in_layer,
                                       context_);
  }

  std::int64_t CombineAt() const {
    if (context_.spill_above_bytes() <= 0) return kCombineBytes;
    return std::min(kCombineBytes, context_.spill_above_bytes() / context_.slots().num_slots() / 2);
  }

  absl::Status MapRange(const InputRange& range) {
    if (spec_.lines_a_process > 0) return MapLineGroups(range);
    return ForEachLineBlock(range, context_, is_stopped_, [&](const TextBlock& block) {
      if (spec_.process_a_file && mapper_ != nullptr && mapper_path_ != range.path) {
        if (absl::Status status = EndMapper(); !status.ok()) return status;
      }
      return MapLines(range, block, block.text());
    });
  }

  absl::Status MapLines(const InputRange& range, const TextBlock& block, std::string_view lines) {
    if (mapper_ == nullptr) {
      if (absl::Status status = StartMapper(&range); !status.ok()) return status;
    }
    records_ += CountLines(lines);
    return mapper_->Write(TextFor(block, lines), block);
  }

  // A process for every few lines of a file.
  absl::Status MapLineGroups(const InputRange& range) {
    absl::Status status =
        ForEachLineGroup(range, spec_.lines_a_process, context_, is_stopped_,
                         [&](const TextBlock& block, std::string_view lines, bool ends) {
                           absl::Status mapped = MapLines(range, block, lines);
                           return mapped.ok() && ends ? EndMapper() : mapped;
                         });
    return status.ok() && !is_stopped_() ? EndMapper() : status;
  }

  std::string_view TextFor(const TextBlock& block, std::string_view lines) {
    if (spec_.map_input == MapInput::kLines) return lines;
    text_.clear();
    const FieldCut cut{.separator = spec_.input_separator, .key_fields = 1};
    ForEachLine(lines, [&](std::string_view line) {
      if (spec_.map_input == MapInput::kOffsets) {
        absl::StrAppend(&text_, block.file_offset + (line.data() - block.data));
        text_.append(spec_.map_input_separator).append(line);
      } else {
        const KeyValue pair = cut.Cut(line);
        if (spec_.map_input == MapInput::kKeyValue) {
          text_.append(pair.key).append(spec_.map_input_separator);
        }
        text_.append(pair.value);
      }
      text_.push_back('\n');
    });
    return text_;
  }

  absl::Status StartMapper(const InputRange* range) {
    ran_ = true;
    mapper_path_ = range == nullptr ? "" : range->path;
    mapper_ =
        std::make_unique<ScriptRun>("mapper", spec_.mapper, spec_, context_, is_stopped_,
                                    [this](std::string_view lines) { return TakeLines(lines); });
    return surroundings_.Start(*mapper_, identity_, Side::kMap, range);
  }

  absl::Status EndMapper() {
    if (mapper_ == nullptr) return absl::OkStatus();
    const std::unique_ptr<ScriptRun> ended = std::move(mapper_);
    return ended->Finish();
  }

  absl::Status TakeLines(std::string_view lines) {
    store_->AddLines(lines);
    if (spec_.combining != Combining::kNone && store_->memory_bytes() >= combine_at_) {
      store_->Sort();
      if (absl::Status status = Combine(); !status.ok()) return status;
      // Where combining hardly helps it is not tried again at once.
      combine_at_ = std::max(CombineAt(), 2 * store_->memory_bytes());
    }
    absl::Status ended = store_->EndBlock();
    // What it hardly helped is on disk; it may help what follows.
    if (store_->pairs().buffer().size() == 0) combine_at_ = CombineAt();
    return ended;
  }

  // Replaces the sorted pairs in memory by what the combiner makes of them, which is not sorted. A
  // script that gets no pair may have something to say all the same, which would be of none.
  absl::Status Combine() {
    if (store_->pairs().buffer().size() == 0) return absl::OkStatus();
    std::unique_ptr<PairStore> combined = MakeStore();
    absl::Status status = spec_.combining == Combining::kScript ? CombineByScript(*combined)
                                                                : CombineAggregates(*combined);
    if (!status.ok()) return status;
    store_->TakeMemoryOf(*combined);
    return absl::OkStatus();
  }

  absl::Status CombineAggregates(PairStore& into) {
    AggregateGroups groups([&](std::string_view key, const Aggregator& values) {
      for (const std::string& value : values.Combined()) into.Add(key, value);
      return absl::OkStatus();
    });
    absl::Status status = store_->Visit(
        [&](std::string_view key, std::string_view value) { return groups.Add(key, value); });
    return status.ok() ? groups.Finish() : status;
  }

  absl::Status CombineByScript(PairStore& into) {
    ScriptRun combiner("combiner", spec_.combiner, spec_, context_, is_stopped_,
                       [&into](std::string_view lines) {
                         into.AddCombinedLines(lines);
                         return absl::OkStatus();
                       });
    absl::Status status = surroundings_.Start(combiner, identity_, Side::kMap, nullptr);
    if (!status.ok()) return status;
    PairFeed feed(combiner, spec_.reduce_input_separator);
    status = store_->Visit(
        [&](std::string_view key, std::string_view value) { return feed.Add(key, value); });
    if (status.ok()) status = feed.Flush();
    return status.ok() ? combiner.Finish() : status;
  }

  const StreamSpec& spec_;
  const Surroundings& surroundings_;
  const KeyRanges& ranges_;
  const int num_consumers_;
  StepContext& context_;
  const std::function<bool()>& is_stopped_;
  const StepIdentity identity_;
  std::int64_t combine_at_;
  std::unique_ptr<PairStore> store_;
  std::unique_ptr<ScriptRun> mapper_;
  std::string mapper_path_;
  bool ran_ = false;
  std::string text_;
  std::int64_t records_ = 0;
};

// The lines of an output part.
class OutputLines {
 public:
  OutputLines(const StreamSpec& spec, PartSink& sink) : spec_(spec), part_(sink), sink_(sink) {}

  /// Whole lines of a reducer.
  absl::Status AddLines(std::string_view lines) {
    absl::Status status;
    ForEachLine(lines, [&](std::string_view line) {
      if (!status.ok()) return;
      status = part_.Add([&](std::string& out) {
        AppendOutputLine(spec_.reduce_output.Cut(line), line, spec_.reduce_output,
                         spec_.output_separator, out);
      });
    });
    return status;
  }
  absl::Status AddPair(std::string_view key, std::string_view value) {
    return part_.Add([&](std::string& out) {
      out.append(key).append(spec_.output_separator).append(value).push_back('\n');
    });
  }
  /// Text that is output already.
  absl::Status AddText(std::string_view text) {
    const std::int64_t lines = CountLines(text);
    text_lines_ += lines;
    return sink_.Append(text, lines);
  }
  absl::Status Flush() { return part_.Flush(); }
  std::int64_t records() const { return part_.records() + text_lines_; }

 private:
  const StreamSpec& spec_;
  PartText part_;
  PartSink& sink_;
  std::int64_t text_lines_ = 0;
};

class StreamProgram : public JobProgram {
 public:
  explicit StreamProgram(StreamSpec spec) : spec_(std::move(spec)), surroundings_(spec_) {}

  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    const KeyRanges ranges(order.consumer_key_end);
    const int num_slots = context.slots().num_slots();
    const auto pieces = SplitRanges(order.ranges, num_slots);
    std::int64_t bytes = 0;
    for (const InputRange& range : order.ranges) bytes += range.end - range.begin;
    // Input without a byte is one empty input: a script may have something to say about it.
    const bool empty = bytes == 0 && context.identity().index_in_layer == 0;
    std::vector<std::optional<MapSlot>> slots(static_cast<std::size_t>(num_slots));
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const auto at = static_cast<std::size_t>(slot);
      slots[at].emplace(spec_, surroundings_, ranges,
                        static_cast<int>(order.consumer_key_end.size()), context, stop);
      return slots[at]->Map(pieces[at], empty && slot == 0);
    });
    if (!status.ok()) return status;
    StepTotals totals;
    std::vector<SpillingPairs*> sorted;
    for (std::optional<MapSlot>& slot : slots) {
      totals.input_records += slot->records();
      sorted.push_back(&slot->pairs());
    }
    const absl::StatusOr<std::int64_t> written =
        SpillingPairs::Write(sorted, nullptr, sink, context);
    if (!written.ok()) return written.status();
    totals.output_records = *written;
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder, RunSink&, StepContext&) override {
    return absl::InternalError("a streaming job has one layer; it makes no run of reducers");
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext& context) override {
    const std::function<bool()> is_stopped = [&context] { return context.cancelled(); };
    MergedSections merged(order.inputs, is_stopped);
    OutputLines out(spec_, sink);
    absl::Status status = Reduce(merged, context, is_stopped, out);
    if (status.ok()) status = out.Flush();
    if (!status.ok()) return status;
    return StepTotals{merged.records(), out.records()};
  }

 private:
  absl::Status Reduce(MergedSections& merged, StepContext& context,
                      const std::function<bool()>& is_stopped, OutputLines& out) const {
    switch (spec_.reducing) {
      case Reducing::kNone:
        return ForEachPair(
            merged, [&](std::string_view, std::string_view text) { return out.AddText(text); });
      case Reducing::kIdentity:
        return ForEachPair(merged, [&](std::string_view key, std::string_view value) {
          return out.AddPair(key, value);
        });
      case Reducing::kAggregate: {
        AggregateGroups groups([&](std::string_view key, const Aggregator& values) {
          return out.AddPair(ReadAggregateKey(key)->name, values.Report());
        });
        absl::Status status = ForEachPair(
            merged,
            [&](std::string_view key, std::string_view value) { return groups.Add(key, value); });
        return status.ok() ? groups.Finish() : status;
      }
      case Reducing::kScript:
        return ReduceByScript(merged, context, is_stopped, out);
    }
    return absl::InternalError("unknown kind of reducer");
  }

  absl::Status ReduceByScript(MergedSections& merged, StepContext& context,
                              const std::function<bool()>& is_stopped, OutputLines& out) const {
    ScriptRun reducer("reducer", spec_.reducer, spec_, context, is_stopped,
                      [&out](std::string_view lines) { return out.AddLines(lines); });
    absl::Status status = surroundings_.Start(reducer, context.identity(), Side::kReduce, nullptr);
    if (!status.ok()) return status;
    PairFeed feed(reducer, spec_.reduce_input_separator);
    status = ForEachPair(
        merged, [&](std::string_view key, std::string_view value) { return feed.Add(key, value); });
    if (status.ok()) status = feed.Flush();
    return status.ok() ? reducer.Finish() : status;
  }

  // Calls take(key, value) for every pair, in order, until it returns an error.
  template <typename Take>
  absl::Status ForEachPair(MergedSections& merged, Take&& take) const {
    const StoredPair stored(spec_);
    std::string_view stored_value, key, value;
    while (merged.NextGroup()) {
      while (merged.NextValue(stored_value)) {
        if (!stored.Read(merged.key(), stored_value, key, value)) return DamagedSection();
        if (absl::Status status = take(key, value); !status.ok()) return status;
      }
    }
    return merged.status();
  }

  const StreamSpec spec_;
  const Surroundings surroundings_;
};

}  // namespace

std::unique_ptr<JobProgram> MakeStreamProgram(StreamSpec spec) {
  return std::make_unique<StreamProgram>(std::move(spec));
}

}  // namespace weir::stream
