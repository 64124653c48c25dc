#include "jobs/engine/group_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "jobs/api/key_prefix.h"
#include "jobs/engine/pieces/merge_cuts.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/record_lengths.h"
#include "jobs/engine/section_blocks.h"
#include "jobs/engine/table/prefix_sort.h"

namespace weir {
namespace {

constexpr std::size_t kChunkEntriesMin = 64;
constexpr std::size_t kChunkEntriesMax = 128 << 10;  // a huge page

// How far ahead records are asked for: their places in memory have no order that the processor
// could guess.
constexpr std::size_t kAheadRecords = 12;

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

void Prefetch(const char* record) {
  constexpr std::size_t kCacheLineBytes = 64;
  __builtin_prefetch(record);
  __builtin_prefetch(record + kCacheLineBytes);
}

}  // namespace

GroupBuffer::GroupBuffer(ValueOrder value_order, RecordShape shape)
    : by_sort_key_(value_order == ValueOrder::kBySortKey), shape_(shape) {
  AppendLength(shape.key_bytes, shape_lengths_);
  AppendLength(shape.value_bytes, shape_lengths_);
}

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

void GroupBuffer::AddEntry(int consumer, std::size_t record_bytes, Entry entry) {
  const auto index = static_cast<std::size_t>(consumer);
  if (index >= consumers_.size()) consumers_.resize(index + 1);
  Pairs& pairs = consumers_[index];
  pairs.bytes += record_bytes;
  if (pairs.chunks.empty() || pairs.chunks.back().size == pairs.chunks.back().room) AddChunk(pairs);
  Chunk& chunk = pairs.chunks.back();
  chunk.entries[chunk.size++] = entry;
  largest_ = std::max(largest_, ++pairs.size);
}

void GroupBuffer::AddChunk(Pairs& pairs) {
  // A part of what there is, so that little is left unused; and whole huge pages as soon as
  // there is one, because the kernel gives small ones one by one.
  const std::size_t part = pairs.size < kChunkEntriesMax
                               ? pairs.size / 8 / kChunkEntriesMin * kChunkEntriesMin
                               : kChunkEntriesMax;
  const std::size_t room = std::max(part, kChunkEntriesMin);
  pairs.chunks.push_back({SlabArray<Entry>(*slabs_, room), 0, room});
  entry_bytes_ += static_cast<std::int64_t>(room * sizeof(Entry));
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
  pairs.sorted = SlabArray<Entry>(*slabs_, pairs.size);
  Entry* next = pairs.sorted.get();
  for (Chunk& chunk : pairs.chunks) {
    next = std::copy_n(chunk.entries.get(), chunk.size, next);
    chunk.entries.reset();
  }
  pairs.chunks.clear();
}

void GroupBuffer::SortEntries(Entry* entries, std::size_t size, Entry* spare) const {
  SortByPrefix(
      entries, size, spare, [this](const Entry& entry) { return KeyOf(entry); },
      [this](const Entry& a, const Entry& b) { return BeforeBehindPrefix(a, b); });
}

void GroupBuffer::Sort() {
  for (Pairs& pairs : consumers_) {
    if (pairs.size > 0) JoinChunks(pairs);
  }
  const SlabArray<Entry> spare(*slabs_, largest_);
  for (Pairs& pairs : consumers_) SortEntries(pairs.sorted.get(), pairs.size, spare.get());
}

absl::Status GroupBuffer::Visit(
    const std::function<absl::Status(int consumer, std::string_view key, std::string_view value)>&
        visit) const {
  for (std::size_t consumer = 0; consumer < consumers_.size(); ++consumer) {
    const Pairs& pairs = consumers_[consumer];
    for (std::size_t i = 0; i < pairs.size; ++i) {
      if (pairs.size - i > kAheadRecords) Prefetch(pairs.sorted[i + kAheadRecords].record());
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

/// The sorted pairs of all buffers, consumer by consumer.
class SortedBuffers {
 public:
  using Entry = GroupBuffer::Entry;

  explicit SortedBuffers(absl::Span<GroupBuffer* const> buffers) : buffers_(buffers) {
    std::size_t num_consumers = 0;
    for (const GroupBuffer* buffer : buffers) {
      num_consumers = std::max(num_consumers, buffer->consumers_.size());
    }
    for (std::size_t consumer = 0; consumer < num_consumers; ++consumer) AddPieces(consumer);
  }

  int num_pieces() const { return static_cast<int>(pieces_.size()); }

  std::int64_t records() const {
    std::int64_t records = 0;
    for (const Piece& piece : pieces_)
      records += static_cast<std::int64_t>(piece.end - piece.begin);
    return records;
  }

  absl::Status Write(int index, SectionWriter& writer) const {
    const Piece& piece = pieces_[static_cast<std::size_t>(index)];
    absl::Status status = writer.Begin(static_cast<int>(piece.consumer));
    std::vector<Head> heads = HeadsOf(piece);
    const auto later = [this](const Head& a, const Head& b) {
      // Buffers earlier in the input first when pairs are equal.
      return a.buffer < b.buffer ? Before(*b.next, *a.next) : !Before(*a.next, *b.next);
    };
    std::make_heap(heads.begin(), heads.end(), later);
    while (status.ok() && !heads.empty()) {
      if (heads.size() > 1) std::pop_heap(heads.begin(), heads.end(), later);
      Head& head = heads.back();
      if (static_cast<std::size_t>(head.end - head.next) > kAheadRecords) {
        Prefetch(head.next[kAheadRecords].record());
      }
      status = Add(*head.next, writer);
      if (++head.next == head.end) {
        heads.pop_back();
      } else {
        std::push_heap(heads.begin(), heads.end(), later);
      }
    }
    return status.ok() ? writer.Finish() : status;
  }

 private:
  using List = absl::Span<const Entry>;

  // Pairs [begin, end) of all of a consumer in their order.
  struct Piece {
    std::size_t consumer;
    std::size_t begin;
    std::size_t end;
  };

  // What is left of a buffer's pairs in a piece.
  struct Head {
    const Entry* next;
    const Entry* end;
    std::size_t buffer;
  };

  // By bytes and pairs of the consumer, which are the same however they were dealt out.
  void AddPieces(std::size_t consumer) {
    std::size_t pairs = 0;
    std::size_t bytes = 0;
    for (const GroupBuffer* buffer : buffers_) {
      if (consumer >= buffer->consumers_.size()) continue;
      pairs += buffer->consumers_[consumer].size;
      bytes += buffer->consumers_[consumer].bytes;
    }
    if (pairs == 0) return;
    const std::size_t count = NumPieces(pairs, bytes, kPieceBytes);
    for (std::size_t i = 0; i < count; ++i) {
      pieces_.push_back({consumer, CutOf(pairs, i, count), CutOf(pairs, i + 1, count)});
    }
  }

  std::vector<Head> HeadsOf(const Piece& piece) const {
    std::vector<List> lists;
    for (const GroupBuffer* buffer : buffers_) {
      const bool has_pairs = piece.consumer < buffer->consumers_.size();
      if (has_pairs) {
        const GroupBuffer::Pairs& pairs = buffer->consumers_[piece.consumer];
        lists.emplace_back(pairs.sorted.get(), pairs.size);
      } else {
        lists.emplace_back();
      }
    }
    const auto before = [this](const Entry& a, const Entry& b) { return Before(a, b); };
    const std::vector<std::size_t> begin = CutMerge<Entry>(lists, piece.begin, before);
    const std::vector<std::size_t> end = CutMerge<Entry>(lists, piece.end, before);
    std::vector<Head> heads;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (begin[i] == end[i]) continue;
      heads.push_back({lists[i].data() + begin[i], lists[i].data() + end[i], i});
    }
    return heads;
  }

  bool Before(const Entry& a, const Entry& b) const { return buffers_[0]->Before(a, b); }

  absl::Status Add(const Entry& entry, SectionWriter& writer) const {
    if (!entry.in_place()) return writer.AddEncoded(RecordAt(entry.record()));
    const GroupBuffer& any = *buffers_[0];
    return writer.AddEncoded(any.shape_lengths_, {entry.record(), any.shape_.bytes()});
  }

  const absl::Span<GroupBuffer* const> buffers_;
  std::vector<Piece> pieces_;
};

absl::StatusOr<std::int64_t> WriteSorted(absl::Span<GroupBuffer* const> buffers, RunSink& sink,
                                         StepContext& context) {
  const SortedBuffers sorted(buffers);
  SharedRun run{sink};
  absl::Status status = MakePieces(sorted.num_pieces(), context, [&](int piece, PieceTurn& turn) {
    PieceRunSink piece_sink(run, turn);
    SectionWriter writer(piece_sink);
    absl::Status written = sorted.Write(piece, writer);
    return written.ok() ? piece_sink.Finish() : written;
  });
  if (!status.ok()) return status;
  return sorted.records();
}

}  // namespace weir
