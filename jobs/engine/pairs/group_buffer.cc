#include "jobs/engine/pairs/group_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "jobs/api/key_prefix.h"
#include "jobs/engine/sections/prefetch_record.h"
#include "jobs/engine/table/prefix_sort.h"

namespace weir {
namespace {

constexpr std::size_t kChunkEntriesMin = 64;

// KeyPrefix of a key of `bytes` bytes, for who may read eight.
std::uint64_t PrefixOf(const char* key, std::size_t bytes) {
  std::uint64_t word;
  std::memcpy(&word, key, sizeof word);
  const std::uint64_t behind = bytes < sizeof word ? ~std::uint64_t{0} >> (8 * bytes) : 0;
  return __builtin_bswap64(word) & ~behind;
}

// What lies behind an encoded pair.
std::string_view SortKeyBehind(std::string_view pair) {
  const char* at = pair.data() + pair.size();
  const std::size_t bytes = ReadLength(at);
  return {at, bytes};
}

}  // namespace

GroupBuffer::GroupBuffer(ValueOrder value_order, RecordShape shape,
                         std::shared_ptr<SlabStore> slabs)
    : by_sort_key_(value_order == ValueOrder::kBySortKey), shape_(shape), slabs_(std::move(slabs)) {
  AppendLength(shape.key_bytes, shape_lengths_);
  AppendLength(shape.value_bytes, shape_lengths_);
}

inline void GroupBuffer::AddEntry(int consumer, std::size_t record_bytes, Entry entry) {
  const auto index = static_cast<std::size_t>(consumer);
  if (index >= consumers_.size()) [[unlikely]]
    AddConsumer(index);
  Pairs& pairs = consumers_[index];
  if (pairs.next == pairs.end) [[unlikely]]
    AddChunk(pairs);
  *pairs.next++ = entry;
  pairs.bytes += record_bytes;
  pairs.low = std::min(pairs.low, entry.prefix);
  pairs.high = std::max(pairs.high, entry.prefix);
  ++size_;
}

void GroupBuffer::AddConsumer(std::size_t consumer) { consumers_.resize(consumer + 1); }

void GroupBuffer::Add(int consumer, std::string_view key, std::string_view value,
                      std::string_view sort_key) {
  std::size_t bytes =
      LengthBytes(key.size()) + LengthBytes(value.size()) + key.size() + value.size();
  const std::size_t record_bytes = bytes;
  if (by_sort_key_) bytes += LengthBytes(sort_key.size()) + sort_key.size();
  char* const record = arena_.Take(bytes);
  char* at = WriteLength(value.size(), WriteLength(key.size(), record));
  const auto append = [&at](std::string_view text) {
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  append(key);
  append(value);
  if (by_sort_key_) {
    at = WriteLength(sort_key.size(), at);
    append(sort_key);
  }
  AddEntry(consumer, record_bytes, {KeyPrefix(key), reinterpret_cast<std::uint64_t>(record)});
}

void GroupBuffer::AddInPlace(int consumer, const char* record) {
  in_place_bytes_ += static_cast<std::int64_t>(shape_.bytes());
  AddEntry(
      consumer, shape_lengths_.size() + shape_.bytes(),
      {KeyPrefix({record, shape_.key_bytes}), reinterpret_cast<std::uint64_t>(record) | kInPlace});
}

bool GroupBuffer::AddEncoded(int consumer, std::string_view pairs) {
  for (std::string_view left(arena_.Copy(pairs), pairs.size()); !left.empty();) {
    const char* const pair = left.data();
    std::size_t key_bytes = 0;
    std::size_t value_bytes = 0;
    if (!TakeLength(left, key_bytes) || !TakeLength(left, value_bytes) || key_bytes > left.size() ||
        value_bytes > left.size() - key_bytes) {
      return false;
    }
    const std::uint64_t prefix = left.size() >= sizeof prefix
                                     ? PrefixOf(left.data(), key_bytes)
                                     : KeyPrefix(left.substr(0, key_bytes));
    left.remove_prefix(key_bytes + value_bytes);
    AddEntry(consumer, static_cast<std::size_t>(left.data() - pair),
             {prefix, reinterpret_cast<std::uint64_t>(pair)});
  }
  return true;
}

void GroupBuffer::AddChunk(Pairs& pairs) {
  // A part of what there is, so that little is left unused; and whole huge pages as soon as
  // there is one, because the kernel gives small ones one by one.
  const std::size_t part = pairs.room < kChunkEntriesMax
                               ? pairs.room / 8 / kChunkEntriesMin * kChunkEntriesMin
                               : kChunkEntriesMax;
  const std::size_t room = std::max(part, kChunkEntriesMin);
  pairs.chunks.push_back({SlabArray<Entry>(*slabs_, room), room});
  pairs.next = pairs.chunks.back().entries.get();
  pairs.end = pairs.next + room;
  pairs.room += room;
  largest_ = std::max(largest_, pairs.room);
  entry_bytes_ += static_cast<std::int64_t>(room * sizeof(Entry));
}

void GroupBuffer::Clear() {
  consumers_.clear();
  arena_.Clear();
  size_ = 0;
  largest_ = 0;
  entry_bytes_ = 0;
  in_place_bytes_ = 0;
}

std::int64_t GroupBuffer::memory_bytes() const {
  return arena_.bytes() + in_place_bytes_ + entry_bytes_ +
         static_cast<std::int64_t>(largest_ * sizeof(Entry));
}

std::string_view GroupBuffer::KeyOf(const Entry& entry) const { return PairOf(entry).key; }

bool GroupBuffer::BeforeBehindPrefix(const Entry& a, const Entry& b) const {
  const int order = KeyOf(a).compare(KeyOf(b));
  if (order != 0 || !by_sort_key_) return order < 0;
  return SortKeyBehind(a.encoded()) < SortKeyBehind(b.encoded());
}

void GroupBuffer::JoinChunks(Pairs& pairs) const {
  const std::size_t size = pairs.size();
  pairs.sorted = SlabArray<Entry>(*slabs_, size);
  Entry* next = pairs.sorted.get();
  for (std::size_t i = 0; i < pairs.chunks.size(); ++i) {
    const absl::Span<const Entry> entries = pairs.EntriesOf(i);
    next = std::copy(entries.begin(), entries.end(), next);
    pairs.chunks[i].entries.reset();
  }
  pairs.chunks.clear();
  pairs.next = pairs.end = nullptr;
  pairs.room = size;
}

void GroupBuffer::SortEntries(Entry* entries, std::size_t size, Entry* spare) const {
  SortByPrefix(
      entries, size, spare, [this](const Entry& entry) { return KeyOf(entry); },
      [this](const Entry& a, const Entry& b) { return BeforeBehindPrefix(a, b); });
}

void GroupBuffer::Sort() {
  for (Pairs& pairs : consumers_) {
    if (pairs.size() > 0) JoinChunks(pairs);
  }
  const SlabArray<Entry> spare(*slabs_, largest_);
  for (Pairs& pairs : consumers_) SortEntries(pairs.sorted.get(), pairs.size(), spare.get());
}

absl::Status GroupBuffer::Visit(
    const std::function<absl::Status(int consumer, std::string_view key, std::string_view value)>&
        visit) const {
  for (std::size_t consumer = 0; consumer < consumers_.size(); ++consumer) {
    const Pairs& pairs = consumers_[consumer];
    const std::size_t size = pairs.size();
    for (std::size_t i = 0; i < size; ++i) {
      if (size - i > kAheadRecords) PrefetchRecord(pairs.sorted[i + kAheadRecords].record(), 0);
      const Pair pair = PairOf(pairs.sorted[i]);
      absl::Status status = visit(static_cast<int>(consumer), pair.key, pair.value);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
