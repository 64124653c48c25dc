#include "jobs/stream/pair_store.h"

#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/table/packed_key.h"
#include "jobs/engine/table/slab_store.h"

namespace weir::stream {
namespace {

// Text of a job without reducers goes into pairs of this size: as lines it would cost more than it
// is long.
constexpr std::size_t kTextBytes = 64 << 10;

}  // namespace

void StoredPair::Make(std::string_view key, std::string_view value, std::string_view& stored_key,
                      std::string_view& stored_value) {
  stored_key = key;
  stored_value = value;
  if (!spec_.orders_by_fields) return;
  key_.clear();
  spec_.order_fields.AppendOrder(key, key_);
  value_.clear();
  AppendLength(key_.size(), value_);
  key_.append(key);
  value_.append(value);
  stored_key = key_;
  stored_value = value_;
}

bool StoredPair::Read(std::string_view stored_key, std::string_view stored_value,
                      std::string_view& key, std::string_view& value) const {
  key = stored_key;
  value = stored_value;
  if (!spec_.orders_by_fields) return true;
  std::size_t order_bytes = 0;
  if (!TakeLength(value, order_bytes) || order_bytes > key.size()) return false;
  key.remove_prefix(order_bytes);
  return true;
}

PairStore::PairStore(const StreamSpec& spec, const KeyRanges& ranges, int num_consumers,
                     int index_in_layer, StepContext& context)
    : spec_(spec),
      ranges_(ranges),
      num_consumers_(num_consumers),
      index_in_layer_(index_in_layer),
      stored_(spec),
      pairs_(num_consumers, {}, std::make_shared<SlabStore>(), context) {}

void PairStore::AddLines(std::string_view lines) {
  if (spec_.reducing != Reducing::kNone) {
    ForEachLine(lines, [this](std::string_view line) {
      const KeyValue pair = spec_.map_output.Cut(line);
      Add(pair.key, pair.value);
    });
    return;
  }
  ForEachLine(lines, [this](std::string_view line) {
    AppendOutputLine(spec_.map_output.Cut(line), line, spec_.map_output, spec_.output_separator,
                     text_);
  });
  if (text_.size() >= kTextBytes) EndText();
}

void PairStore::AddCombinedLines(std::string_view lines) {
  const FieldCut& cut = spec_.combiner_output;
  ForEachLine(lines, [&](std::string_view line) {
    KeyValue pair = cut.Cut(line);
    // A key of fewer fields came with a separator behind it and no value.
    if (!pair.cut && pair.key.ends_with(cut.separator)) {
      pair.key.remove_suffix(cut.separator.size());
    }
    Add(pair.key, pair.value);
  });
}

void PairStore::Add(std::string_view key, std::string_view value) {
  const int consumer = ConsumerOf(key);
  std::string_view stored_key, stored_value;
  stored_.Make(key, value, stored_key, stored_value);
  pairs_.buffer().Add(consumer, stored_key, stored_value);
}

void PairStore::Sort() {
  EndText();
  pairs_.Sort();
}

absl::Status PairStore::Visit(
    const std::function<absl::Status(std::string_view key, std::string_view value)>& visit) const {
  return pairs_.buffer().Visit(
      [&](int, std::string_view stored_key, std::string_view stored_value) {
        std::string_view key, value;
        if (!stored_.Read(stored_key, stored_value, key, value)) {
          return absl::InternalError("a pair in memory does not decode");
        }
        return visit(key, value);
      });
}

int PairStore::ConsumerOf(std::string_view key) const {
  if (spec_.partitions_by_fields) return spec_.partition_fields.PartitionOf(key, num_consumers_);
  return ranges_.ConsumerOf(KeyPosition(HashKey(key)));
}

void PairStore::EndText() {
  if (text_.empty()) return;
  // Sections are merged by key, and equal keys in the order of the mappers: text stays as it is.
  pairs_.buffer().Add(index_in_layer_ % num_consumers_, {}, text_);
  text_.clear();
}

void AppendOutputLine(const KeyValue& pair, std::string_view line, const FieldCut& cut,
                      const std::string& separator, std::string& out) {
  if (pair.cut && cut.separator == separator) {
    out.append(line);
  } else {
    out.append(pair.key).append(separator).append(pair.value);
  }
  out.push_back('\n');
}

}  // namespace weir::stream
