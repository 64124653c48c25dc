#include "tests/unit/jobs/in_process_job.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "jobs/engine/slot_work.h"

namespace weir::testing {

absl::Status MemoryRun::BeginSection(int consumer) {
  if (consumer <= consumer_) return absl::InternalError("sections must rise");
  consumer_ = consumer;
  return absl::OkStatus();
}

absl::Status MemoryRun::Append(std::string_view block, std::int64_t records) {
  if (consumer_ < 0 || block.empty() || block.size() > static_cast<std::size_t>(kBlockBytesMax)) {
    return absl::InternalError("not a block");
  }
  sections_[consumer_].emplace_back(block);
  records_ += records;
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const char>> MemorySource::NextBlock() {
  if (next_ == blocks_.size()) return absl::Span<const char>();
  const std::string& block = blocks_[next_++];
  // A copy of its own, so that a sanitizer sees reads beyond it and use after the next call.
  current_ = std::make_unique<char[]>(block.size());
  std::memcpy(current_.get(), block.data(), block.size());
  return absl::Span<const char>(current_.get(), block.size());
}

absl::Status MemoryPart::Append(std::string_view bytes, std::int64_t added) {
  text.append(bytes);
  records += added;
  return absl::OkStatus();
}

void ThreadPerCall::RunOnAll(const std::function<void(int slot)>& body) {
  std::vector<std::thread> threads;
  for (int slot = 1; slot < num_slots_; ++slot) threads.emplace_back(body, slot);
  body(0);
  for (std::thread& thread : threads) thread.join();
}

void RecordingContext::AddCounter(std::string_view name, std::int64_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counters[std::string(name)] += value;
}

bool RecordingContext::SkipBad(const BadRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (skipped.size() == skip_bad) return false;
  skipped.push_back(record);
  return true;
}

namespace {

std::vector<std::unique_ptr<RunSource>> Sources(const std::vector<MemoryRun>& runs, int consumer) {
  std::vector<std::unique_ptr<RunSource>> sources;
  for (const MemoryRun& run : runs) {
    const auto section = run.sections().find(consumer);
    sources.push_back(std::make_unique<MemorySource>(
        section == run.sections().end() ? std::vector<std::string>() : section->second));
  }
  return sources;
}

absl::StatusOr<std::vector<MemoryRun>> MapAll(JobProgram& program, const JobCut& cut,
                                              const std::vector<double>& consumer_key_end) {
  std::vector<MemoryRun> runs(cut.mappers.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RecordingContext context(cut.num_slots);
    const auto totals = program.Map({cut.mappers[i], consumer_key_end}, runs[i], context);
    if (!totals.ok()) return totals.status();
    std::int64_t bytes = 0;
    for (const InputRange& range : cut.mappers[i]) bytes += range.end - range.begin;
    if (context.progress_bytes != bytes) return absl::InternalError("progress is not the input");
    if (totals->output_records != runs[i].records()) return absl::InternalError("records lost");
  }
  return runs;
}

// Reduces one section of all runs.
ReduceOrder OrderOf(const std::vector<MemoryRun>& runs, std::size_t layer, std::size_t index) {
  ReduceOrder order;
  order.layer = static_cast<int>(layer);
  order.index_in_layer = static_cast<int>(index);
  order.inputs = Sources(runs, static_cast<int>(index));
  return order;
}

absl::StatusOr<std::vector<MemoryRun>> ReduceInner(JobProgram& program, const JobCut& cut,
                                                   const std::vector<MemoryRun>& from,
                                                   std::size_t layer) {
  std::vector<MemoryRun> runs(cut.inner_key_ends[layer - 1].size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ReduceOrder order = OrderOf(from, layer, i);
    order.consumer_key_end =
        layer < cut.inner_key_ends.size() ? cut.inner_key_ends[layer] : cut.consumer_key_end;
    RecordingContext context(cut.num_slots);
    const auto totals = program.ReduceToRun(std::move(order), runs[i], context);
    if (!totals.ok()) return totals.status();
    if (totals->output_records != runs[i].records()) return absl::InternalError("records lost");
  }
  return runs;
}

absl::StatusOr<std::vector<std::string>> ReduceLast(JobProgram& program, const JobCut& cut,
                                                    const std::vector<MemoryRun>& runs) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < cut.consumer_key_end.size(); ++i) {
    MemoryPart part;
    RecordingContext context(cut.num_slots);
    const auto totals =
        program.ReduceToPart(OrderOf(runs, cut.inner_key_ends.size() + 1, i), part, context);
    if (!totals.ok()) return totals.status();
    if (totals->output_records != part.records) return absl::InternalError("records lost");
    parts.push_back(std::move(part.text));
  }
  return parts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> RunJob(JobProgram& program, const JobCut& cut) {
  auto runs = MapAll(program, cut,
                     cut.inner_key_ends.empty() ? cut.consumer_key_end : cut.inner_key_ends[0]);
  for (std::size_t layer = 1; runs.ok() && layer <= cut.inner_key_ends.size(); ++layer) {
    runs = ReduceInner(program, cut, *runs, layer);
  }
  if (!runs.ok()) return runs.status();
  return ReduceLast(program, cut, *runs);
}

std::vector<double> EvenKeyEnds(int count) {
  std::vector<double> ends;
  for (int i = 1; i <= count; ++i) ends.push_back(static_cast<double>(i) / count);
  return ends;
}

JobCut EvenCut(const std::vector<std::string>& paths, int num_mappers, int num_reducers,
               int num_slots) {
  std::vector<InputRange> files;
  for (const std::string& path : paths) {
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
    if (bytes > 0) files.push_back({path, 0, bytes, bytes});
  }
  JobCut cut;
  cut.mappers = SplitRanges(files, num_mappers);
  cut.num_slots = num_slots;
  cut.consumer_key_end = EvenKeyEnds(num_reducers);
  return cut;
}

ScratchFile::ScratchFile(std::string_view contents, std::string_view suffix) {
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  folder_ = pattern;
  path_ = folder_ + "/input" + std::string(suffix);
  std::ofstream(path_, std::ios::binary) << contents;
}

ScratchFile::~ScratchFile() { std::filesystem::remove_all(folder_); }

InputRange ScratchFile::range() const {
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  return {path_, 0, bytes, bytes};
}

std::unique_ptr<JobProgram> ProgramOf(
    const JobDefinition& job, const std::vector<std::pair<std::string, std::string>>& given) {
  return *job.MakeProgram(*CheckParameters(job.info(), given));
}

absl::StatusOr<std::string> RunOnText(JobProgram& program, const std::string& text, int num_mappers,
                                      int num_reducers, int num_slots) {
  const ScratchFile file(text);
  const auto parts = RunJob(program, EvenCut({file.path()}, num_mappers, num_reducers, num_slots));
  if (!parts.ok()) return parts.status();
  std::string all;
  for (const std::string& part : *parts) all += part;
  return all;
}

}  // namespace weir::testing
