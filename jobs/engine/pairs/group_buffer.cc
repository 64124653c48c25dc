#include "jobs/engine/pairs/group_buffer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "jobs/api/key_prefix.h"
#include "jobs/engine/pieces/merge_cuts.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/references/reference_sections.h"
#include "jobs/engine/sections/prefetch_record.h"
#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_sort.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/prefix_sort.h"

namespace weir {
namespace {

constexpr std::size_t kChunkEntriesMin = 64;
constexpr std::size_t kChunkEntriesMax = 128 << 10;  // a huge page

// Key and value with their lengths, as sections hold them.
std::string_view RecordAt(const char* at) {
  const char* const begin = at;
  const std::size_t key_bytes = ReadLength(at);
  const std::size_t value_bytes = ReadLength(at);
  return {begin, static_cast<std::size_t>(at - begin) + key_bytes + value_bytes};
}

std::string_view KeyAt(const char* at) {
  const std::size_t key_bytes = ReadLength(at);
  ReadLength(at);
  return {at, key_bytes};
}

std::string_view SortKeyAt(const char* at) {
  at += RecordAt(at).size();
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

std::string_view GroupBuffer::KeyOf(const Entry& entry) const {
  return entry.in_place() ? std::string_view(entry.record(), shape_.key_bytes)
                          : KeyAt(entry.record());
}

bool GroupBuffer::BeforeBehindPrefix(const Entry& a, const Entry& b) const {
  const int order = KeyOf(a).compare(KeyOf(b));
  if (order != 0 || !by_sort_key_) return order < 0;
  return SortKeyAt(a.record()) < SortKeyAt(b.record());
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
      const Entry& entry = pairs.sorted[i];
      const char* at = entry.record();
      const std::size_t key_bytes = entry.in_place() ? shape_.key_bytes : ReadLength(at);
      const std::size_t value_bytes = entry.in_place() ? shape_.value_bytes : ReadLength(at);
      absl::Status status =
          visit(static_cast<int>(consumer), {at, key_bytes}, {at + key_bytes, value_bytes});
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

/// All pairs of some buffers in their order, consumer by consumer.
class SortedPairs {
 public:
  using Entry = GroupBuffer::Entry;

  explicit SortedPairs(absl::Span<GroupBuffer* const> buffers) : buffers_(buffers) {
    std::size_t num_consumers = 0;
    for (const GroupBuffer* buffer : buffers) {
      num_consumers = std::max(num_consumers, buffer->consumers_.size());
    }
    for (std::size_t consumer = 0; consumer < num_consumers; ++consumer) Add(consumer);
  }

  /// Sorts on all slots: few pairs of a consumer on one of them, many on all.
  absl::Status Sort(StepContext& context) {
    std::vector<Section*> few;
    for (Section& section : sections_) {
      if (section.size < kSortOnSlotsMin) few.push_back(&section);
    }
    std::atomic<std::size_t> next = 0;
    absl::Status status =
        RunOnSlots(context, [&](int, const std::function<bool()>& stop) -> absl::Status {
          for (std::size_t i; !stop() && (i = next++) < few.size();) SortFew(*few[i]);
          return absl::OkStatus();
        });
    for (Section& section : sections_) {
      if (status.ok() && section.size >= kSortOnSlotsMin) status = SortMany(section, context);
    }
    return status;
  }

  int num_pieces() const { return static_cast<int>(pieces_.size()); }

  std::int64_t records() const {
    std::int64_t records = 0;
    for (const Section& section : sections_) records += static_cast<std::int64_t>(section.size);
    return records;
  }

  /// Shape of the pairs in place.
  RecordShape shape() const { return buffers_[0]->shape_; }

  /// Writes one piece with the records of pairs in place.
  absl::Status Write(int index, SectionWriter& writer) const {
    const Piece& piece = pieces_[static_cast<std::size_t>(index)];
    const Section& section = sections_[piece.section];
    absl::Status status = writer.Begin(static_cast<int>(section.consumer));
    const Entry* const end = section.sorted.get() + piece.end;
    // Of records that are not in place nobody knows how long they are.
    const std::size_t last = LastPrefetched(shape().bytes());
    for (const Entry* next = section.sorted.get() + piece.begin; status.ok() && next != end;
         ++next) {
      if (static_cast<std::size_t>(end - next) > kAheadRecords) {
        PrefetchRecord(next[kAheadRecords].record(), last);
      }
      status = Add(*next, writer);
    }
    return status.ok() ? writer.Finish() : status;
  }

  /// The same with references to them; nothing of them is looked at.
  absl::Status Write(int index, ReferenceSectionWriter& writer) const {
    const Piece& piece = pieces_[static_cast<std::size_t>(index)];
    const Section& section = sections_[piece.section];
    absl::Status status = writer.Begin(static_cast<int>(section.consumer));
    const Entry* const end = section.sorted.get() + piece.end;
    for (const Entry* next = section.sorted.get() + piece.begin; status.ok() && next != end;
         ++next) {
      status = next->in_place() ? writer.AddInPlace(next->record())
                                : writer.AddEncoded(RecordAt(next->record()));
    }
    return status.ok() ? writer.Finish() : status;
  }

 private:
  // What slots share is counted in such arrays.
  static constexpr std::size_t kArrayEntries = kChunkEntriesMax;

  // The pairs of a consumer.
  struct Section {
    std::size_t consumer = 0;
    std::size_t size = 0;
    std::uint64_t low = ~std::uint64_t{0};  // of the prefixes
    std::uint64_t high = 0;
    SlabArray<Entry> sorted;
  };

  // Pairs [begin, end) of a section in their order.
  struct Piece {
    std::size_t section;
    std::size_t begin;
    std::size_t end;
  };

  using Arrays = std::vector<absl::Span<const Entry>>;

  // In pieces by bytes and pairs of the consumer, which are the same however they were dealt out.
  void Add(std::size_t consumer) {
    Section section;
    section.consumer = consumer;
    std::size_t bytes = 0;
    for (const GroupBuffer* buffer : buffers_) {
      if (consumer >= buffer->consumers_.size()) continue;
      const GroupBuffer::Pairs& pairs = buffer->consumers_[consumer];
      section.size += pairs.size();
      section.low = std::min(section.low, pairs.low);
      section.high = std::max(section.high, pairs.high);
      bytes += pairs.bytes;
    }
    if (section.size == 0) return;
    const std::size_t count = NumPieces(section.size, bytes, kPieceBytes);
    for (std::size_t i = 0; i < count; ++i) {
      pieces_.push_back(
          {sections_.size(), CutOf(section.size, i, count), CutOf(section.size, i + 1, count)});
    }
    sections_.push_back(std::move(section));
  }

  // Where the pairs of a section lie, in the order of the buffers.
  Arrays ArraysOf(const Section& section) const {
    Arrays arrays;
    const auto add = [&arrays](absl::Span<const Entry> entries) {
      for (; !entries.empty(); entries.remove_prefix(std::min(kArrayEntries, entries.size()))) {
        arrays.push_back(entries.subspan(0, kArrayEntries));
      }
    };
    for (const GroupBuffer* buffer : buffers_) {
      if (section.consumer >= buffer->consumers_.size()) continue;
      const GroupBuffer::Pairs& pairs = buffer->consumers_[section.consumer];
      if (pairs.size() > 0 && pairs.chunks.empty()) add({pairs.sorted.get(), pairs.size()});
      for (std::size_t i = 0; i < pairs.chunks.size(); ++i) add(pairs.EntriesOf(i));
    }
    return arrays;
  }

  void Free(const Section& section) const {
    for (GroupBuffer* buffer : buffers_) {
      if (section.consumer < buffer->consumers_.size()) buffer->consumers_[section.consumer] = {};
    }
  }

  SlabStore& slabs() const { return *buffers_[0]->slabs_; }
  void SortEntries(Entry* entries, std::size_t size, Entry* spare) const {
    buffers_[0]->SortEntries(entries, size, spare);
  }

  void SortFew(Section& section) const {
    section.sorted = SlabArray<Entry>(slabs(), section.size);
    Entry* next = section.sorted.get();
    for (const auto& entries : ArraysOf(section)) {
      next = std::copy(entries.begin(), entries.end(), next);
    }
    // memory_bytes() counts the entries of one consumer twice, not those of all.
    Free(section);
    const SlabArray<Entry> spare(slabs(), section.size);
    SortEntries(section.sorted.get(), section.size, spare.get());
  }

  absl::Status SortMany(Section& section, StepContext& context) const {
    const Arrays arrays = ArraysOf(section);
    section.sorted = SlabArray<Entry>(slabs(), section.size);
    return SortOnSlots<Entry>(
        arrays, PrefixPlaces(section.low, section.high), section.sorted.get(), slabs(), context,
        [&] { Free(section); },
        [this](Entry* entries, std::size_t size, Entry* spare) {
          SortEntries(entries, size, spare);
        });
  }

  absl::Status Add(const Entry& entry, SectionWriter& writer) const {
    if (!entry.in_place()) return writer.AddEncoded(RecordAt(entry.record()));
    const GroupBuffer& any = *buffers_[0];
    return writer.AddEncoded(any.shape_lengths_, {entry.record(), any.shape_.bytes()});
  }

  const absl::Span<GroupBuffer* const> buffers_;
  std::vector<Section> sections_;
  std::vector<Piece> pieces_;
};

absl::StatusOr<std::int64_t> WriteSorted(absl::Span<GroupBuffer* const> buffers,
                                         const InputReferences* references, RunSink& sink,
                                         StepContext& context) {
  SortedPairs sorted(buffers);
  if (absl::Status status = sorted.Sort(context); !status.ok()) return status;
  SharedRun run{sink};
  absl::Status status = MakePieces(sorted.num_pieces(), context, [&](int piece, PieceTurn& turn) {
    PieceRunSink piece_sink(run, turn);
    const auto write = [&](auto writer) {
      absl::Status written = sorted.Write(piece, writer);
      return written.ok() ? piece_sink.Finish() : written;
    };
    if (references == nullptr) return write(SectionWriter(piece_sink));
    return write(ReferenceSectionWriter(piece_sink, *references, sorted.shape()));
  });
  if (!status.ok()) return status;
  return sorted.records();
}

}  // namespace weir
