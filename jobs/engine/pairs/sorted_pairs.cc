#include "jobs/engine/pairs/sorted_pairs.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "jobs/engine/pieces/merge_cuts.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/references/reference_sections.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_sort.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/prefix_sort.h"

namespace weir {

SortedPairs::SortedPairs(absl::Span<GroupBuffer* const> buffers)
    : buffers_(buffers), last_prefetched_(LastPrefetched(shape().bytes())) {
  std::size_t num_consumers = 0;
  for (const GroupBuffer* buffer : buffers) {
    num_consumers = std::max(num_consumers, buffer->consumers_.size());
  }
  for (std::size_t consumer = 0; consumer < num_consumers; ++consumer) Add(consumer);
}

// In pieces by bytes and pairs of the consumer, which are the same however they were dealt out.
void SortedPairs::Add(std::size_t consumer) {
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

absl::Status SortedPairs::Sort(StepContext& context) {
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

std::int64_t SortedPairs::records() const {
  std::int64_t records = 0;
  for (const Section& section : sections_) records += static_cast<std::int64_t>(section.size);
  return records;
}

// Where the pairs of a section lie, in the order of the buffers.
SortedPairs::Arrays SortedPairs::ArraysOf(const Section& section) const {
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

void SortedPairs::Free(const Section& section) const {
  for (GroupBuffer* buffer : buffers_) {
    if (section.consumer < buffer->consumers_.size()) buffer->consumers_[section.consumer] = {};
  }
}

void SortedPairs::SortFew(Section& section) const {
  section.sorted = SlabArray<Entry>(slabs(), section.size);
  Entry* next = section.sorted.get();
  for (const auto& entries : ArraysOf(section)) {
    next = std::copy(entries.begin(), entries.end(), next);
  }
  // memory_bytes() counts the entries of one consumer twice, not those of all.
  Free(section);
  const SlabArray<Entry> spare(slabs(), section.size);
  buffers_[0]->SortEntries(section.sorted.get(), section.size, spare.get());
}

absl::Status SortedPairs::SortMany(Section& section, StepContext& context) const {
  const Arrays arrays = ArraysOf(section);
  section.sorted = SlabArray<Entry>(slabs(), section.size);
  return SortOnSlots<Entry>(
      arrays, PrefixPlaces(section.low, section.high), section.sorted.get(), slabs(), context,
      [&] { Free(section); },
      [this](Entry* entries, std::size_t size, Entry* spare) {
        buffers_[0]->SortEntries(entries, size, spare);
      });
}

absl::Status SortedPairs::WritePiece(int index, RunSink& sink) const {
  SectionWriter writer(sink);
  absl::Status status = writer.Begin(ConsumerOf(index));
  if (!status.ok()) return status;
  const GroupBuffer& any = *buffers_[0];
  status = EachOf(index, [&](const Entry* next, const Entry* end) {
    Prefetch(next, end);
    if (!next->in_place()) return writer.AddEncoded(next->encoded());
    return writer.AddEncoded(any.shape_lengths_, {next->record(), any.shape_.bytes()});
  });
  return status.ok() ? writer.Finish() : status;
}

absl::Status SortedPairs::WritePiece(int index, const InputReferences& references,
                                     RunSink& sink) const {
  ReferenceSectionWriter writer(sink, references, shape());
  absl::Status status = writer.Begin(ConsumerOf(index));
  if (!status.ok()) return status;
  status = EachOf(index, [&writer](const Entry* next, const Entry*) {
    return next->in_place() ? writer.AddInPlace(next->record())
                            : writer.AddEncoded(next->encoded());
  });
  return status.ok() ? writer.Finish() : status;
}

absl::StatusOr<std::int64_t> WriteSorted(absl::Span<GroupBuffer* const> buffers,
                                         const InputReferences* references, RunSink& sink,
                                         StepContext& context) {
  SortedPairs sorted(buffers);
  if (absl::Status status = sorted.Sort(context); !status.ok()) return status;
  SharedRun run{sink};
  absl::Status status = MakePieces(sorted.num_pieces(), context, [&](int piece, PieceTurn& turn) {
    PieceRunSink piece_sink(run, turn);
    absl::Status written = references == nullptr
                               ? sorted.WritePiece(piece, piece_sink)
                               : sorted.WritePiece(piece, *references, piece_sink);
    return written.ok() ? piece_sink.Finish() : written;
  });
  if (!status.ok()) return status;
  return sorted.records();
}

}  // namespace weir
