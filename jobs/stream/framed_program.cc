#include "jobs/stream/framed_program.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/text_block.h"
#include "jobs/engine/pairs/group_buffer.h"
#include "jobs/engine/pairs/spilling_pairs.h"
#include "jobs/engine/sections/merged_sections.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/key_ranges.h"
#include "jobs/engine/table/packed_key.h"
#include "jobs/engine/table/slab_store.h"
#include "jobs/stream/framed_run.h"
#include "jobs/stream/frames/frame.h"
#include "jobs/stream/input_blocks.h"
#include "jobs/stream/script/script.h"

namespace weir::stream {
namespace {

// A record of a run holds no more than one pair may; results of mappers travel in pieces.
constexpr std::size_t kResultPieceBytes = 16 << 20;

absl::Status StartProgram(FramedRun& run, const FramedSpec& spec) {
  absl::btree_map<std::string, std::string> variables;
  for (const auto& [name, value] : OwnEnvironment()) variables[name] = value;
  for (const auto& [name, value] : spec.environment) variables[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    environment.push_back(absl::StrCat(name, "=", value));
  }
  const auto path = variables.find("PATH");
  return run.Start(std::move(environment), OwnDirectory(),
                   path == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second);
}

// What the mappers wrote as the result, between them and the output part: in pieces of a run, in
// front of each the number of records that end in it.
absl::Status AddResult(std::string_view content, int consumer, GroupBuffer& buffer) {
  std::uint32_t records = 0;
  if (!TakeU32(content, records)) {
    return absl::InvalidArgumentError("a frame of the result does not say how many records it has");
  }
  std::string piece;
  do {
    const std::string_view part = content.substr(0, kResultPieceBytes);
    content.remove_prefix(part.size());
    piece.clear();
    AppendU32(content.empty() ? records : 0, piece);
    piece.append(part);
    buffer.Add(consumer, {}, piece);
  } while (!content.empty());
  return absl::OkStatus();
}

// The pairs of one frame by key: what is sorted, moved and merged afterwards are keys of frames,
// not pairs. A record of a run is a key and its values one after the other, each a plain item.
class PairsOfFrame {
 public:
  /// Calls add(key, values) for each key of the frame, in the order in which they came first.
  template <typename Add>
  absl::Status Group(std::string_view content, Add&& add) {
    const bool by_key = frames_to_pass_ == 0;
    if (!by_key) --frames_to_pass_;
    std::int64_t pairs = 0;
    absl::Status read =
        ForEachFramedPair(content, [&](std::string_view key, std::string_view value) {
          ++pairs;
          if (!by_key) {
            add(key, value);
            return absl::OkStatus();
          }
          const std::uint64_t hash = HashKey(key);
          const auto found = index_.find(Known{key, hash});
          if (found == index_.end()) {
            Begin(key, value, hash);
          } else {
            std::string& values = groups_[found->second].values;
            if (values.size() + value.size() > kGroupBytesMax) {
              add(key, values);
              values.clear();
            }
            values.append(value);
          }
          return absl::OkStatus();
        });
    if (!read.ok()) return read;
    for (std::size_t i = 0; i < used_; ++i) add(groups_[i].key, groups_[i].values);
    // Where nearly all keys differ grouping is only a cost; they may be others later.
    if (by_key && static_cast<double>(used_) > kDistinctMax * static_cast<double>(pairs)) {
      frames_to_pass_ = kFramesPassed;
    }
    index_.clear();
    used_ = 0;
    pairs_ += pairs;
    return absl::OkStatus();
  }

  std::int64_t pairs() const { return pairs_; }

 private:
  static constexpr std::size_t kGroupBytesMax = 1 << 20;
  static constexpr double kDistinctMax = 0.8;
  static constexpr int kFramesPassed = 15;

  struct PairGroup {
    std::string key;
    std::string values;
  };
  struct Known {
    std::string_view key;
    std::uint64_t hash;
    friend bool operator==(const Known& a, const Known& b) { return a.key == b.key; }
  };
  struct HashOfKnown {
    std::size_t operator()(const Known& known) const { return known.hash; }
  };

  void Begin(std::string_view key, std::string_view value, std::uint64_t hash) {
    if (used_ == groups_.size()) groups_.emplace_back();
    PairGroup& group = groups_[used_];
    group.key.assign(key);
    group.values.assign(value);
    index_.emplace(Known{group.key, hash}, used_++);
  }

  std::deque<PairGroup> groups_;  // those beyond used_ keep their memory for the next frame
  std::size_t used_ = 0;
  absl::flat_hash_map<Known, std::size_t, HashOfKnown> index_;
  int frames_to_pass_ = 0;
  std::int64_t pairs_ = 0;
};

// One slot of a map step.
class FramedMapSlot {
 public:
  FramedMapSlot(const FramedSpec& spec, const KeyRanges& ranges, int num_consumers,
                StepContext& context, const std::function<bool()>& is_stopped)
      : spec_(spec),
        ranges_(ranges),
        consumer_of_results_(context.identity().index_in_layer % num_consumers),
        context_(context),
        is_stopped_(is_stopped),
        store_(num_consumers, {}, std::make_shared<SlabStore>(), context),
        mapper_(FramedRun::Role::kMapper, spec, context, is_stopped,
                [this](FrameType type, std::string_view content) { return Take(type, content); }) {}

  absl::Status Map(const std::vector<InputRange>& ranges) {
    for (const InputRange& range : ranges) {
      if (absl::Status mapped = MapRange(range); !mapped.ok()) return mapped;
    }
    if (started_) {
      if (absl::Status ended = mapper_.Finish(); !ended.ok()) return ended;
    }
    store_.Sort();
    return absl::OkStatus();
  }

  SpillingPairs& store() { return store_; }
  std::int64_t records() const { return records_; }
  std::int64_t pairs() const { return pairs_.pairs(); }

 private:
  absl::Status MapRange(const InputRange& range) {
    return ForEachLineBlock(range, context_, is_stopped_, [&](const TextBlock& block) {
      if (!std::exchange(started_, true)) {
        if (absl::Status started = StartProgram(mapper_, spec_); !started.ok()) return started;
      }
      const std::string_view text = block.text();
      records_ += std::count(text.begin(), text.end(), '\n');
      return mapper_.WriteText(block);
    });
  }

  absl::Status Take(FrameType type, std::string_view content) {
    if (type == FrameType::kResult) {
      absl::Status added = AddResult(content, consumer_of_results_, store_.buffer());
      if (!added.ok()) return added;
    } else {
      absl::Status taken =
          pairs_.Group(content, [this](std::string_view key, std::string_view values) {
            store_.buffer().Add(ranges_.ConsumerOf(KeyPosition(HashKey(key))), key, values);
          });
      if (!taken.ok()) return taken;
    }
    return store_.EndBlock(0);
  }

  const FramedSpec& spec_;
  const KeyRanges& ranges_;
  const int consumer_of_results_;
  StepContext& context_;
  const std::function<bool()>& is_stopped_;
  SpillingPairs store_;
  PairsOfFrame pairs_;
  FramedRun mapper_;
  bool started_ = false;
  std::int64_t records_ = 0;
};

class FramedProgram : public JobProgram {
 public:
  explicit FramedProgram(FramedSpec spec) : spec_(std::move(spec)) {}

  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    const KeyRanges ranges(order.consumer_key_end);
    const int num_slots = context.slots().num_slots();
    const auto pieces = SplitRanges(order.ranges, num_slots);
    std::vector<std::optional<FramedMapSlot>> slots(static_cast<std::size_t>(num_slots));
    absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
      const auto at = static_cast<std::size_t>(slot);
      slots[at].emplace(spec_, ranges, static_cast<int>(order.consumer_key_end.size()), context,
                        stop);
      return slots[at]->Map(pieces[at]);
    });
    if (!status.ok()) return status;
    StepTotals totals;
    std::vector<SpillingPairs*> sorted;
    for (std::optional<FramedMapSlot>& slot : slots) {
      totals.input_records += slot->records();
      totals.output_records += slot->pairs();
      sorted.push_back(&slot->store());
    }
    const absl::StatusOr<std::int64_t> written =
        SpillingPairs::Write(sorted, nullptr, sink, context);
    if (!written.ok()) return written.status();
    return totals;
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder, RunSink&, StepContext&) override {
    return absl::InternalError("a job of framed programs has one layer");
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext& context) override {
    const std::function<bool()> is_stopped = [&context] { return context.cancelled(); };
    MergedSections merged(order.inputs, is_stopped);
    StepTotals totals;
    absl::Status status = spec_.reduces() ? Reduce(merged, context, is_stopped, sink, totals)
                                          : Collect(merged, sink, totals);
    if (!status.ok()) return status;
    return totals;
  }

 private:
  static absl::Status AppendResult(std::string_view content, PartSink& sink,
                                   std::int64_t& all_records) {
    std::uint32_t records = 0;
    if (!TakeU32(content, records)) return DamagedSection();
    all_records += records;
    return sink.Append(content, records);
  }

  static absl::Status Collect(MergedSections& merged, PartSink& sink, StepTotals& totals) {
    std::string_view piece;
    while (merged.NextGroup()) {
      while (merged.NextValue(piece)) {
        absl::Status done = AppendResult(piece, sink, totals.output_records);
        if (!done.ok()) return done;
      }
    }
    totals.input_records = totals.output_records;
    return merged.status();
  }

  absl::Status Reduce(MergedSections& merged, StepContext& context,
                      const std::function<bool()>& is_stopped, PartSink& sink,
                      StepTotals& totals) const {
    FramedRun reducer(FramedRun::Role::kReducer, spec_, context, is_stopped,
                      [&](FrameType type, std::string_view content) {
                        if (type == FrameType::kResult) {
                          return AppendResult(content, sink, totals.output_records);
                        }
                        return absl::InvalidArgumentError("a reducer wrote pairs, not a result");
                      });
    if (absl::Status started = StartProgram(reducer, spec_); !started.ok()) return started;
    GroupFrame groups;
    std::string frame;
    const auto flush = [&]() -> absl::Status {
      frame.clear();
      if (!groups.Take(frame)) return DamagedSection();
      return reducer.WriteGroups(frame, groups.last_key());
    };
    std::string_view values;
    while (merged.NextGroup()) {
      while (merged.NextValue(values)) {
        while (!values.empty()) {
          const std::string_view before = values;
          ItemView item;
          if (!TakeItem(values, ItemForm::kPlain, item)) return DamagedSection();
          groups.Add(merged.key(), before.substr(0, before.size() - values.size()));
          ++totals.input_records;
          if (!groups.full()) continue;
          if (absl::Status written = flush(); !written.ok()) return written;
        }
      }
    }
    if (!merged.status().ok()) return merged.status();
    if (!groups.empty()) {
      if (absl::Status written = flush(); !written.ok()) return written;
    }
    return reducer.Finish();
  }

  const FramedSpec spec_;
};

}  // namespace

std::unique_ptr<JobProgram> MakeFramedProgram(FramedSpec spec) {
  return std::make_unique<FramedProgram>(std::move(spec));
}

}  // namespace weir::stream
