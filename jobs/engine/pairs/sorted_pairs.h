#pragma once

// The pairs of the slots of a step, sorted together. Upstream: group_buffer.h. Downstream: sections
// of runs, parts.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "jobs/engine/pairs/group_buffer.h"
#include "jobs/engine/references/input_references.h"
#include "jobs/engine/references/reference_block.h"
#include "jobs/engine/sections/prefetch_record.h"
#include "jobs/engine/table/slab_array.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// All pairs of some buffers in their order, consumer by consumer: by key, then by sort key, what
/// is equal in the order of the buffers. In pieces that depend neither on the number of slots nor
/// on that of buffers that the same pairs were dealt out to.
///
/// Thread-safety: pieces may be visited and written by several threads once all are sorted.
/// Requires: buffers with the same order of values and shape, which outlive this; Sort was called.
/// Checked by: tests/unit/jobs/group_buffer_test.cc, slots_agree_test.cc.
class SortedPairs {
 public:
  explicit SortedPairs(absl::Span<GroupBuffer* const> buffers);

  /// Sorts on all slots: few pairs of a consumer on one of them, many on all. Buffers may be sorted
  /// already; they are empty afterwards. Errors: kCancelled.
  absl::Status Sort(StepContext& context);

  int num_pieces() const { return static_cast<int>(pieces_.size()); }
  std::int64_t records() const;
  /// Shape of the pairs in place.
  RecordShape shape() const { return buffers_[0]->shape_; }

  /// Calls visit(key, value), both as bytes, for the pairs of a piece until it returns an error.
  template <typename Visit>
  absl::Status VisitPiece(int index, Visit&& visit) const {
    return EachOf(index, [&](const Entry* next, const Entry* end) {
      Prefetch(next, end);
      const GroupBuffer::Pair pair = buffers_[0]->PairOf(*next);
      return visit(pair.key, pair.value);
    });
  }
  /// Writes a piece with the records of pairs in place. Errors: those of the sink.
  absl::Status WritePiece(int index, RunSink& sink) const;
  /// The same with references to them; nothing of them is looked at.
  absl::Status WritePiece(int index, const InputReferences& references, RunSink& sink) const;

 private:
  using Entry = GroupBuffer::Entry;

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

  // What slots share is counted in such arrays.
  static constexpr std::size_t kArrayEntries = GroupBuffer::kChunkEntriesMax;
  using Arrays = std::vector<absl::Span<const Entry>>;

  // Calls visit(entry, end of the entries) for those of a piece.
  template <typename Visit>
  absl::Status EachOf(int index, Visit&& visit) const {
    const Piece& piece = pieces_[static_cast<std::size_t>(index)];
    const Entry* const entries = sections_[piece.section].sorted.get();
    const Entry* const end = entries + piece.end;
    absl::Status status;
    for (const Entry* next = entries + piece.begin; status.ok() && next != end; ++next) {
      status = visit(next, end);
    }
    return status;
  }
  // Of records that are not in place nobody knows how long they are.
  void Prefetch(const Entry* next, const Entry* end) const {
    if (static_cast<std::size_t>(end - next) <= kAheadRecords) return;
    PrefetchRecord(next[kAheadRecords].record(), last_prefetched_);
  }
  int ConsumerOf(int index) const {
    return static_cast<int>(sections_[pieces_[static_cast<std::size_t>(index)].section].consumer);
  }

  void Add(std::size_t consumer);
  Arrays ArraysOf(const Section& section) const;
  void Free(const Section& section) const;
  SlabStore& slabs() const { return *buffers_[0]->slabs_; }
  void SortFew(Section& section) const;
  absl::Status SortMany(Section& section, StepContext& context) const;

  const absl::Span<GroupBuffer* const> buffers_;
  const std::size_t last_prefetched_;
  std::vector<Section> sections_;
  std::vector<Piece> pieces_;
};

/// Sorts the pairs of buffers together and writes them as the sections of a run, in pieces on all
/// slots. Returns the records. `references`: where pairs in place are, for a run that refers to
/// them; null: it holds them. Requires: as SortedPairs. Errors: those of the sink; kCancelled.
absl::StatusOr<std::int64_t> WriteSorted(absl::Span<GroupBuffer* const> buffers,
                                         const InputReferences* references, RunSink& sink,
                                         StepContext& context);

}  // namespace weir
