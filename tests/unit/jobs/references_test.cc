// Runs that refer to records of the input: what they say, that whoever reads them finds
// the same records, and what becomes of them when the input changes meanwhile.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/input/page_guard.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/merge/merge_on_slots.h"
#include "jobs/engine/references/record_finder.h"
#include "jobs/engine/references/reference_block.h"
#include "jobs/engine/references/referenced_files.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/memory_file.h"
#include "tests/unit/jobs/sort_records.h"

namespace weir {
namespace {

using testing::JobCut;
using testing::JobLog;
using testing::MemoryFile;
using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;
using testing::ScratchFile;
using testing::SortRecords;

constexpr std::int64_t kRecord = 100;

/// Records of a hundred bytes whose keys come again, and differ behind their first bytes.
std::string Records(int count, unsigned seed = 3) {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string record = absl::StrCat("key", absl::Dec(random() % 5000, absl::kZeroPad7), i);
    text.append(record).append(kRecord - record.size(), static_cast<char>('a' + i % 7));
  }
  return text;
}

std::string CodeOf(const absl::Status& status) {
  const auto error = StepErrorOf(status);
  return error ? error->code : status.ToString();
}

std::int64_t BytesOf(const MemoryRun& run) {
  std::int64_t bytes = 0;
  for (const auto& [consumer, blocks] : run.sections()) {
    for (const std::string& block : blocks) bytes += std::ssize(block);
  }
  return bytes;
}

/// A run of the ranges by reference, for one consumer.
MemoryRun MapByReference(const std::vector<InputRange>& ranges, int slots = 1) {
  MemoryRun run;
  RecordingContext context(slots);
  context.input_is_shared = true;
  const auto totals = MakeJobProgram(SortRecords())->Map({ranges, {1.0}}, run, context);
  EXPECT_TRUE(totals.ok()) << totals.status();
  return run;
}

class TextSink : public PartSink {
 public:
  absl::Status Append(std::string_view bytes, std::int64_t) override {
    text.append(bytes);
    return absl::OkStatus();
  }
  std::string text;
};

template <typename Job = SortRecords>
absl::StatusOr<std::string> Reduce(const MemoryRun& run, bool input_is_shared = true,
                                   Job job = Job(), int slots = 1) {
  RecordingContext context(slots);
  context.input_is_shared = input_is_shared;
  ReduceOrder order;
  for (const auto& [consumer, blocks] : run.sections()) {
    order.inputs.push_back(std::make_unique<MemorySource>(blocks));
  }
  TextSink sink;
  const auto totals = MakeJobProgram(job)->ReduceToPart(std::move(order), sink, context);
  if (!totals.ok()) return totals.status();
  return sink.text;
}

TEST(References, AreLessThanTheRecordsAndGiveTheSameResult) {
  const std::string text = Records(60'000);
  const MemoryFile file(text);
  const MemoryFile other(Records(3'000, 4));
  for (const int slots : {1, 3}) {
    JobCut cut;
    // Cuts within records, a range of another file, and one that is too small to be mapped.
    cut.mappers = {{file.range(0, 2'000'050), other.range()},
                   {file.range(2'000'050, 2'000'450), file.range(2'000'450, file.bytes())}};
    cut.consumer_key_end = {0.3, 0.7, 1.0};
    cut.num_slots = slots;
    JobLog held;
    JobLog named;
    named.input_is_shared = true;
    const auto program = MakeJobProgram(SortRecords());
    const auto expected = testing::RunJob(*program, cut, held);
    const auto found = testing::RunJob(*program, cut, named);
    ASSERT_TRUE(expected.ok() && found.ok()) << expected.status() << found.status();
    EXPECT_TRUE(*expected == *found) << slots;
  }
  const MemoryRun run = MapByReference({file.range()});
  EXPECT_EQ(run.records(), 60'000);
  EXPECT_LT(BytesOf(run), file.bytes() / 11) << "8 bytes of a hundred";
  EXPECT_GT(BytesOf(run), file.bytes() / 13);
}

TEST(References, AreTheSameWhateverTheNumberOfSlots) {
  const MemoryFile file(Records(30'000));
  for (const auto& [begin, end] : {std::pair{0L, 3'000'000L}, {50L, 2'999'999L}, {10L, 4'000L}}) {
    const auto one = MapByReference({file.range(begin, end)}, 1);
    const auto more = MapByReference({file.range(begin, end)}, 3);
    EXPECT_TRUE(one.sections() == more.sections()) << begin;
    EXPECT_EQ(one.records(), more.records());
  }
}

// Half of the memory may be kept, what follows is copied: both kinds are in one block.
TEST(References, RecordsThatWereCopiedStandBetweenThem) {
  const MemoryFile file(Records(120'000));
  JobCut cut;
  cut.mappers = {{file.range()}};
  JobLog held;
  const auto expected = testing::RunJob(*MakeJobProgram(SortRecords()), cut, held);
  JobLog named;
  named.input_is_shared = true;
  named.memory_bytes = 18 << 20;
  const auto found = testing::RunJob(*MakeJobProgram(SortRecords()), cut, named);
  ASSERT_TRUE(expected.ok() && found.ok()) << expected.status() << found.status();
  EXPECT_TRUE(*expected == *found);
  MemoryRun run;
  RecordingContext context(1, named.memory_bytes);
  context.input_is_shared = true;
  const auto program = MakeJobProgram(SortRecords());
  ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, run, context).ok());
  EXPECT_GT(BytesOf(run), file.bytes() / 9);
  EXPECT_LT(BytesOf(run), file.bytes() / 3);
}

TEST(References, WhatWasOnDiskIsHeld) {
  const MemoryFile file(Records(40'000));
  MemoryRun run;
  RecordingContext context(1);
  context.input_is_shared = true;
  context.spill_above = 1 << 20;
  const auto totals = MakeJobProgram(SortRecords())->Map({{file.range()}, {1.0}}, run, context);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_GT(context.num_spills, 1);
  EXPECT_GT(BytesOf(run), file.bytes());
}

// A run that came from elsewhere must not say which files are read here.
TEST(References, AreDamageWhereNobodyMayNameThem) {
  const MemoryFile file(Records(2'000));
  const auto text = Reduce(MapByReference({file.range()}), /*input_is_shared=*/false);
  EXPECT_TRUE(absl::IsDataLoss(text.status())) << text.status();
}

TEST(References, AnInputThatChangedSinceItWasMappedIsNamed) {
  for (const int slots : {1, 2}) {
    const ScratchFile file(Records(2'000));
    const MemoryRun run = MapByReference({file.range()});
    ASSERT_TRUE(Reduce(run, true, SortRecords(), slots).ok());
    // The same length, another content.
    std::fstream(file.path(), std::ios::in | std::ios::out).write("new", 3);
    const auto changed = Reduce(run, true, SortRecords(), slots);
    EXPECT_EQ(CodeOf(changed.status()), step_error::kInputChanged) << changed.status();
    std::filesystem::remove(file.path());
    const auto gone = Reduce(run, true, SortRecords(), slots);
    EXPECT_EQ(CodeOf(gone.status()), step_error::kInputNotFound) << gone.status();
  }
}

/// Cuts its input when it sees the first group; what it then says of records is not to blame.
struct CutsInput : SortRecords {
  MemoryFile* file = nullptr;
  bool throws = false;
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Rest>& values, Emit&& emit) const {
    if (file->bytes() > 4096) file->CutTo(4096);
    if (throws && key.front() != 'k') throw std::runtime_error("no such key");
    SortRecords::Reduce(key, values, emit);
  }
};

TEST(References, AnInputThatIsCutWhileItIsReducedIsNamed) {
#ifdef __SANITIZE_THREAD__
  // The guard of a page (page_guard.h) writes where another slot reads, whose result does not
  // count.
  constexpr int kSlotsMax = 1;
#else
  constexpr int kSlotsMax = 2;
#endif
  for (const bool throws : {false, true}) {
    for (int slots = 1; slots <= kSlotsMax; ++slots) {
      MemoryFile file(Records(40'000));
      const MemoryRun run = MapByReference({file.range()});
      CutsInput job;
      job.file = &file;
      job.throws = throws;
      const auto cut = Reduce(run, true, job, slots);
      EXPECT_EQ(CodeOf(cut.status()), step_error::kInputChanged) << cut.status();
    }
  }
}

TEST(References, RecordsOfFilesThatCannotBeMappedAreRead) {
  const std::string text = Records(2'000);
  const ScratchFile file(text);
  const MemoryRun run = MapByReference({file.range()});
  const auto mapped = Reduce(run);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  // All guards are taken.
  char* const page =
      static_cast<char*>(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::vector<std::unique_ptr<PageGuard>> guards;
  do guards.push_back(std::make_unique<PageGuard>());
  while (guards.back()->Guard(page, 4096, '\0'));
  const auto read = Reduce(run);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == *mapped);
  guards.clear();
  ::munmap(page, 4096);
}

TEST(InputReferences, AreFoundWithinWhatIsMappedOnly) {
  class Kept : public KeptInput {
   public:
    Kept(MappedBytes mapped, std::string path) : mapped_(mapped), path_(std::move(path)) {}
    absl::Status CheckUnchanged() const override { return absl::OkStatus(); }
    MappedBytes mapped() const override { return mapped_; }
    InputRange AsOpened() const override { return {path_, 0, 1000, 1000}; }

   private:
    const MappedBytes mapped_;
    const std::string path_;
  };
  const std::string memory(300, 'x');
  const char* const at = memory.data();
  std::vector<KeptInputs> kept(2);
  kept[0].push_back(std::make_unique<Kept>(MappedBytes{at + 200, 50, 7}, "b"));
  kept[0].push_back(std::make_unique<Kept>(MappedBytes{}, "closed"));
  kept[1].push_back(std::make_unique<Kept>(MappedBytes{at, 100, 900}, "a"));
  kept[1].push_back(std::make_unique<Kept>(MappedBytes{at + 100, 50, 100}, "b"));
  const InputReferences references(kept);
  ASSERT_EQ(references.files().size(), 2U);
  for (const auto& [from, bytes, path, offset] :
       {std::tuple{0, 100, "a", 900}, {40, 60, "a", 940}, {100, 1, "b", 100}, {249, 1, "b", 56}}) {
    const InputReferences::Mapped* const found = references.Find(at + from, bytes);
    ASSERT_NE(found, nullptr) << from;
    EXPECT_EQ(references.files()[found->file].path, path);
    EXPECT_EQ(found->bytes.offset + (at + from - found->bytes.data), offset);
  }
  EXPECT_EQ(references.Find(at + 41, 60), nullptr) << "a part of it lies behind the end";
  EXPECT_EQ(references.Find(at + 150, 1), nullptr);
  EXPECT_EQ(references.Find(at + 250, 1), nullptr);
}

TEST(References, ARecordThatReachesBeyondItsFileIsDamage) {
  const MemoryFile file(std::string(100'000, 'x'));
  for (const std::uint64_t offset : {99'900, 99'901}) {
    ReferenceBlockBuilder builder({10, 90});
    builder.AddReference(builder.AddFile(file.range()).value() + offset);
    MemoryRun run;
    ASSERT_TRUE(run.BeginSection(0).ok());
    ASSERT_TRUE(run.Append(builder.Finish(), 1).ok());
    const auto text = Reduce(run);
    EXPECT_EQ(text.ok(), offset == 99'900) << text.status();
    EXPECT_EQ(absl::IsDataLoss(text.status()), offset == 99'901);
  }
}

/// Runs of both parts of a file, by reference.
std::vector<MemoryRun> RunsOfParts(const MemoryFile& file, std::int64_t cut) {
  std::vector<MemoryRun> runs;
  runs.push_back(MapByReference({file.range(0, cut)}));
  runs.push_back(MapByReference({file.range(cut, file.bytes())}));
  return runs;
}

/// What runs hold for their consumer, as sources.
GroupPieces::Sources SourcesOf(const std::vector<MemoryRun>& runs) {
  return testing::SectionsOf(runs, 0);
}

TEST(References, PiecesOfThemAreFoundByWhoReadsThem) {
  const MemoryFile file(Records(60'000));
  const std::vector<MemoryRun> runs = RunsOfParts(file, file.bytes() / 2);
  for (const std::int64_t held_bytes : {1, 1 << 18, 1 << 20}) {
    RecordingContext context(2);
    context.input_is_shared = true;
    ReferencedFiles files;
    const GroupPieces::Sources sources = SourcesOf(runs);
    GroupPieces pieces(sources, held_bytes, 64 << 20, &files, context);
    GroupPieces::Sources piece;
    std::int64_t references = 0;
    std::int64_t stands_for = 0;
    std::int64_t largest = 0;
    int num_pieces = 0;
    while (pieces.Next(piece)) {
      ++num_pieces;
      stands_for += pieces.piece_bytes();
      largest = std::max(largest, pieces.piece_bytes());
      for (const auto& source : piece) {
        for (auto block = source->NextBlock(); block.ok() && !block->empty();
             block = source->NextBlock()) {
          EXPECT_TRUE(IsOfReferences({block->data(), block->size()}));
          references += std::ssize(*block);
        }
      }
    }
    EXPECT_GT(num_pieces, 4);
    EXPECT_LT(references, file.bytes() / 10);
    EXPECT_GT(stands_for, file.bytes());
    EXPECT_LT(largest, 2 * held_bytes + 4 * static_cast<std::int64_t>(kBlockFillBytes));
  }
}

TEST(References, AreCutBetweenKeysOnly) {
  // Each key some times, so that blocks end within groups.
  const MemoryFile file(Records(60'000));
  const std::vector<MemoryRun> runs = RunsOfParts(file, file.bytes() / 3);
  std::vector<std::string> texts;
  for (const int slots : {1, 2, 5}) {
    RecordingContext context(slots);
    context.input_is_shared = true;
    ReduceOrder order;
    order.inputs = SourcesOf(runs);
    TextSink sink;
    const auto totals =
        MakeJobProgram(SortRecords())->ReduceToPart(std::move(order), sink, context);
    ASSERT_TRUE(totals.ok()) << totals.status();
    EXPECT_EQ(totals->input_records, 60'000);
    texts.push_back(std::move(sink.text));
  }
  EXPECT_TRUE(texts[0] == texts[1]);
  EXPECT_TRUE(texts[0] == texts[2]);
}

TEST(RecordFinder, CountsWhatComesBeforeAKey) {
  const std::string text = Records(2'000);
  const MemoryFile mapped(text);
  const ScratchFile small(text.substr(0, 5'000));  // is read
  for (const InputRange& range : {mapped.range(), small.range()}) {
    const MemoryRun run = MapByReference({range});
    RecordingContext context(1);
    ReferencedFiles files;
    RecordFinder finder(files, context);
    std::string key;
    std::int64_t records = 0;
    for (const std::string& block : run.sections().at(0)) {
      if (!IsOfReferences(block)) continue;  // the last record of a file
      ASSERT_TRUE(finder.Begin(block).ok());
      std::string whole(finder.block().stands_for_bytes, '\0');
      ASSERT_TRUE(finder.FindAll(whole.data()).ok());
      std::vector<std::string> keys;
      for (std::size_t at = 3; at < whole.size(); at += kRecord + 2) {
        keys.push_back(whole.substr(at, SortRecords::kRecordKeyBytes));
      }
      ASSERT_EQ(keys.size(), finder.block().entries.size());
      for (const std::size_t index : {std::size_t{0}, keys.size() / 2, keys.size() - 1}) {
        ASSERT_TRUE(finder.FindKey(index, key).ok());
        EXPECT_EQ(key, keys[index]);
      }
      records += std::ssize(keys);
      keys.push_back("");
      keys.push_back("~");
      for (const std::string& end : keys) {
        const auto count = finder.CountBefore(end);
        ASSERT_TRUE(count.ok()) << count.status();
        EXPECT_EQ(*count, static_cast<std::size_t>(
                              std::lower_bound(keys.begin(), keys.end() - 2, end) - keys.begin()));
      }
    }
    EXPECT_GT(records, range.file_bytes / kRecord - 2);
  }
}

// Cutting looks at a few records. One that is not there is damage, and nothing that lacks it is
// reduced.
TEST(References, WhatCannotBeCutIsNotReduced) {
  const MemoryFile file(Records(60'000));
  const auto runs = std::vector{MapByReference({file.range()})};
  std::vector<std::string> blocks = runs[0].sections().at(0);
  ASSERT_GT(blocks.size(), 10U);
  // The first piece ends within this block: all but its last record, which is looked at when it is
  // held.
  ReferenceBlock read;
  std::string& broken = blocks[4];
  ASSERT_TRUE(ReadReferenceBlock(broken, read).ok());
  for (std::size_t i = 0; i + 1 < read.entries.size(); ++i)
    broken[read.entries_at + 8 * i + 5] = 0x7f;
  RecordingContext context(2);
  context.input_is_shared = true;
  ReferencedFiles files;
  GroupPieces::Sources sources;
  sources.push_back(std::make_unique<MemorySource>(blocks));
  std::atomic<int> reduced = 0;
  const absl::Status status = MergeOnSlots(
      sources, context,
      [&](const GroupPieces::Sources& piece, PieceTurn&) -> absl::Status {
        for (const auto& source : piece) {
          auto block = source->NextBlock();
          for (; block.ok() && !block->empty(); block = source->NextBlock()) {
            EXPECT_EQ(static_cast<BlockKind>(block->front()), BlockKind::kWholeRecords);
            ++reduced;
          }
          if (!block.ok()) return block.status();
        }
        return absl::OkStatus();
      },
      &files);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(reduced, 0);
}

}  // namespace
}  // namespace weir
