#pragma once

// The border between a job and the process that runs it: one virtual call a step or a block, never
// a record. Upstream: runtime/task hands in ranges, runs and sinks. Downstream: engine templates in
// the author's translation unit.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/element.h"
#include "jobs/api/loop.h"

namespace weir {

/// Which content of a file was listed; 0 = not known, not compared.
struct FileVersion {
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // of the inode
  std::uint64_t inode = 0;
  /// Elsewhere (another machine, a second mount) the same file may have another inode, changed at
  /// another time; 0 = this is elsewhere.
  std::uint64_t device = 0;
};

/// A place where a packed file may be cut: a member begins there, or the file ends. `text_at` is
/// the place of its first byte in the text.
struct PackedBorder {
  std::int64_t at = 0;
  std::int64_t text_at = 0;
};

/// Half-open byte range of one input file. A record belongs to the range that holds its first byte,
/// so a reader looks back one byte and may read beyond `end` to finish its last record.
///
/// Of a packed file with known borders a range goes from one to another, and a record belongs to
/// the range that holds the byte of the text before it: nobody decompresses a member to look back.
struct InputRange {
  std::string path;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t file_bytes = 0;
  FileVersion version = {};
  /// Of a packed file: those of the range, its ends among them; none where it cannot be cut.
  std::vector<PackedBorder> borders = {};
  std::int64_t text_bytes = 0;  // of the whole file, where there are borders
};

/// How an input file is packed, by its name. A packed file without borders is one split: the range
/// that holds its byte 0 has all its records, others have none.
enum class Packing { kNone, kGzip, kZstd };
inline Packing PackingOf(std::string_view path) {
  if (path.ends_with(".gz")) return Packing::kGzip;
  return path.ends_with(".zst") ? Packing::kZstd : Packing::kNone;
}
inline bool IsPacked(std::string_view path) { return PackingOf(path) != Packing::kNone; }

/// A record that the job cannot accept: where it is and what it looks like. Errors of a program
/// that concern input carry it as the payload of the Status (see bad_record.h), so that the user
/// gets file and offset.
struct BadRecord {
  std::string file;              // empty for a result of the layer before
  std::int64_t byte_offset = 0;  // in the text of the file: decompressed, when it is packed
  std::string content;           // at most 200 bytes, escaped
  std::string reason;
  /// False where what follows it cannot be read without it: then --skip-bad is no remedy.
  bool can_be_left_out = true;
};

/// Runs a function once on each slot (thread) of the task and waits for all. Slot numbers are 0 ..
/// num_slots() - 1.
class SlotPool {
 public:
  virtual ~SlotPool() = default;
  virtual int num_slots() const = 0;
  virtual void RunOnAll(const std::function<void(int slot)>& body) = 0;
};

/// A block as a run keeps it.
struct ReadyBlock {
  std::string stored;
  std::int64_t raw_bytes = 0;  // of what it was made
  std::int64_t records = 0;
  std::int64_t stands_for_bytes = 0;  // RunSink::AppendStandIn; 0 = as raw_bytes
};

/// Takes the records of one run, section by section in rising order of consumer, as whole blocks.
class RunSink {
 public:
  virtual ~RunSink() = default;
  /// Starts the section of `consumer`; sections left out are empty.
  virtual absl::Status BeginSection(int consumer) = 0;
  /// Appends one block of whole records: 1 .. kBlockBytesMax bytes. Errors: kResourceExhausted
  /// (disk full), kDataLoss.
  virtual absl::Status Append(std::string_view block, std::int64_t records) = 0;

  /// As Append, of a block that stands for one of `stands_for_bytes`, which whoever reads it makes
  /// of it: as many count as what the run would be without packing.
  virtual absl::Status AppendStandIn(std::string_view block, std::int64_t records,
                                     [[maybe_unused]] std::int64_t stands_for_bytes) {
    return Append(block, records);
  }

  /// Append in two halves, so that slots may do the first for several blocks at a time. Ready packs
  /// a block of the section of `consumer` into `ready`, whose memory is used again, and fails
  /// never; AppendReady appends to the open section what Ready made, with the errors of Append.
  /// Thread-safety: Ready by any thread at any time.
  virtual void Ready([[maybe_unused]] int consumer, std::string_view block, std::int64_t records,
                     ReadyBlock& ready) {
    ready.stored.assign(block);
    ready.raw_bytes = static_cast<std::int64_t>(block.size());
    ready.records = records;
  }
  virtual absl::Status AppendReady(const ReadyBlock& block) {
    return Append(block.stored, block.records);
  }
};

inline constexpr std::int64_t kBlockBytesMax = 1 << 20;

/// Gives the blocks of one section in the order written, verified. The span is valid until the next
/// call; an empty span ends the section. Errors: kDataLoss (checksum).
class RunSource {
 public:
  virtual ~RunSource() = default;
  virtual absl::StatusOr<absl::Span<const char>> NextBlock() = 0;
  /// As NextBlock, for who keeps blocks: the block becomes the content of `block`, whose memory is
  /// used again. False, with nothing in it, at the end of the section.
  virtual absl::StatusOr<bool> TakeBlock(std::string& block) {
    const absl::StatusOr<absl::Span<const char>> next = NextBlock();
    if (!next.ok()) return next.status();
    block.assign(next->data(), next->size());
    return !next->empty();
  }
  /// How many blocks the section has, `most` at the most, for who shares it; 1 where nobody knows.
  /// Call it before the first block is read.
  virtual int CountBlocks([[maybe_unused]] int most) const { return 1; }
};

/// A file beside a step for what its memory does not hold: sections as in a run, read again by the
/// step itself. Gone with this object.
class SpillFile : public RunSink {
 public:
  /// Ends writing. Errors: as Append.
  virtual absl::Status Finish() = 0;
  /// Opens the section of `consumer`, an empty one where none was begun. Requires: Finish; that
  /// this outlives the source. Errors: those of the file; of its blocks those of RunSource.
  virtual absl::StatusOr<std::unique_ptr<RunSource>> Open(int consumer) const = 0;
};

/// Takes the bytes of one output part, in order.
class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual absl::Status Append(std::string_view bytes, std::int64_t records) = 0;
  /// The same for who has no more use for `text`: it is empty afterwards, perhaps in other memory.
  virtual absl::Status AppendText(std::string& text, std::int64_t records) {
    absl::Status status = Append(text, records);
    text.clear();
    return status;
  }
};

/// Which step of which job this is, for programs that tell it to others.
struct StepIdentity {
  std::string job_id;
  std::int32_t index_in_layer = 0;  // from 0, among the steps of its kind and layer
  std::int32_t attempt = 1;         // from 1
};

/// What both kinds of step may use.
class StepContext {
 public:
  virtual ~StepContext() = default;
  virtual StepIdentity identity() const { return {}; }
  virtual SlotPool& slots() = 0;
  /// Adds to the input bytes done so far. Thread-safe; call a few times a second, not per record.
  virtual void AddProgress(std::int64_t input_bytes) = 0;
  /// Says that a read of input begins or has ended; see ReadUnderWay. Thread-safe.
  virtual void BeginRead() {}
  virtual void EndRead() {}
  /// Adds to a named counter. Thread-safe; call per step or block, not per record.
  virtual void AddCounter(std::string_view name, std::int64_t value) = 0;
  /// Says in a line what the step does just now, for whoever watches the job; the last one counts.
  /// Thread-safe; call when it changes, not per record.
  virtual void SetStatus(std::string_view) {}
  /// Asks whether a rejected record may be left out, and counts it then; false when the step may
  /// leave out no more, and ends. Thread-safe.
  virtual bool SkipBad(const BadRecord& record) = 0;
  /// Whether map steps try what the job declares of its operation before it is relied upon.
  virtual bool checks_operation() const { return true; }
  /// True once the job is being ended; long loops then return kCancelled.
  virtual bool cancelled() const = 0;
  /// Memory that this step may hold, bytes; 0 = no limit.
  virtual std::int64_t memory_bytes() const = 0;
  /// Memory beyond which it puts on disk what can be there, bytes; 0 = none.
  virtual std::int64_t spill_above_bytes() const { return memory_bytes(); }
  /// Whether runs may refer to records of the input instead of holding them, because all steps of
  /// the job find the input in the same memory.
  virtual bool refers_to_input() const { return false; }
  /// Opens a new file for that. Thread-safe. Errors: kUnimplemented where a step has no place for
  /// such files; those of the disk.
  virtual absl::StatusOr<std::unique_ptr<SpillFile>> NewSpill() {
    return absl::UnimplementedError("this step has no place for files");
  }

  /// What decoders of input hold at this moment, of the memory that the step may hold.
  /// Thread-safe.
  std::int64_t decoder_bytes() const { return decoder_bytes_.load(std::memory_order_relaxed); }
  /// Adds to it; what is given back is negative. Thread-safe.
  void AddDecoderBytes(std::int64_t bytes) {
    decoder_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> decoder_bytes_ = 0;
};

/// While it exists, a thread of the step reads input: waiting for a slow disk is no hang.
class ReadUnderWay {
 public:
  explicit ReadUnderWay(StepContext& context) : context_(context) { context_.BeginRead(); }
  ~ReadUnderWay() { context_.EndRead(); }
  ReadUnderWay(const ReadUnderWay&) = delete;
  ReadUnderWay& operator=(const ReadUnderWay&) = delete;

 private:
  StepContext& context_;
};

/// One map step.
struct MapOrder {
  std::vector<InputRange> ranges;
  /// Upper ends of the consumers' key ranges within the unit interval of hashed keys; last = 1.
  std::vector<double> consumer_key_end;
};

/// One reduce step: sections of all producers in their fixed order, so that results do not depend
/// on arrival.
struct ReduceOrder {
  int layer = 1;
  int index_in_layer = 0;
  std::vector<std::unique_ptr<RunSource>> inputs;
  /// Set unless this is the last layer.
  std::vector<double> consumer_key_end;
};

/// One combine step: parts of the partial results of several workers become one.
struct CombineOrder {
  /// Whose pairs are combined: those that reduce layer `layer` would reduce.
  int layer = 1;
  /// In the order of the operands, left to right; folded in this order.
  std::vector<std::unique_ptr<RunSource>> inputs;
  /// As MapOrder::consumer_key_end; what lies below the first end belongs to the first consumer.
  std::vector<double> consumer_key_end;
};

/// One mapper's part of an iteration of a loop after the first.
struct IterateOrder {
  std::int32_t iteration = 1;
  /// The state of the iteration before, in one piece or several.
  std::vector<std::unique_ptr<RunSource>> inputs;
  /// As MapOrder::consumer_key_end.
  std::vector<double> consumer_key_end;
};

/// End of an iteration: the next state of the mappers' combined elements and the state before.
struct UpdateOrder {
  std::int32_t iteration = 0;
  /// Element and state say themselves which they are, and which range of places; in iteration 0
  /// there is no state.
  std::vector<std::unique_ptr<RunSource>> inputs;
  /// Everybody gets the whole of what is made.
  int num_consumers = 1;
};

/// Totals of one step.
struct StepTotals {
  std::int64_t input_records = 0;
  std::int64_t output_records = 0;
};

/// One job with its parameters, as a task process holds it. Used by one step at a time.
class JobProgram {
 public:
  virtual ~JobProgram() = default;
  virtual absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                         StepContext& context) = 0;
  /// Writes runs for the next layer; not called for the last layer.
  virtual absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder order, RunSink& sink,
                                                 StepContext& context) = 0;
  /// Last layer: writes the output part.
  virtual absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                                  StepContext& context) = 0;
  /// Combines without reducing: the run holds pairs of the same layer as the inputs.
  /// Errors: kUnimplemented where the values of the layer cannot be combined.
  virtual absl::StatusOr<StepTotals> Combine(CombineOrder order, RunSink& sink,
                                             StepContext& context);
  /// Loops: maps what Map kept of the input of this process once more.
  /// Errors: kUnimplemented where the job is no loop; kFailedPrecondition where nothing is kept.
  virtual absl::StatusOr<StepTotals> Iterate(IterateOrder order, RunSink& sink,
                                             StepContext& context);
  /// Loops: makes the next state, and says how far the loop is. Errors: as Iterate.
  virtual absl::StatusOr<StepTotals> Update(UpdateOrder order, RunSink& sink, StepContext& context,
                                            LoopReport& report);
  /// Places of the partial results of a layer (ElementInfo::places).
  virtual std::int64_t num_places(int layer) const;
};

}  // namespace weir
