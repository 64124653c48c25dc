#include "jobs/testing/memory_steps.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>

#include "jobs/api/counter_sum.h"

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

namespace {

std::unique_ptr<RunSource> SectionOf(const MemoryRun& run, int consumer) {
  const auto section = run.sections().find(consumer);
  return std::make_unique<MemorySource>(section == run.sections().end() ? std::vector<std::string>()
                                                                        : section->second);
}

}  // namespace

std::vector<std::unique_ptr<RunSource>> SectionsOf(absl::Span<const MemoryRun> runs, int consumer) {
  std::vector<std::unique_ptr<RunSource>> sources;
  for (const MemoryRun& run : runs) sources.push_back(SectionOf(run, consumer));
  return sources;
}

absl::StatusOr<std::unique_ptr<RunSource>> MemorySpill::Open(int consumer) const {
  return SectionOf(run_, consumer);
}

absl::Status MemoryPart::Append(std::string_view bytes, std::int64_t added) {
  text.append(bytes);
  records += added;
  return absl::OkStatus();
}

void ThreadPerCall::RunOnAll(const std::function<void(int slot)>& body) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&](int slot) {
    try {
      body(slot);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int slot = 1; slot < num_slots_; ++slot) threads.emplace_back(guarded, slot);
  guarded(0);
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void RecordingContext::AddCounter(std::string_view name, std::int64_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  AddToCounter(counters[std::string(name)], value);
}

void RecordingContext::SetStatus(std::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  statuses.emplace_back(text);
}

absl::StatusOr<std::unique_ptr<SpillFile>> RecordingContext::NewSpill() {
  if (spill_above == 0) return StepContext::NewSpill();
  ++num_spills;
  return std::make_unique<MemorySpill>();
}

bool RecordingContext::SkipBad(const BadRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (skipped.size() == skip_bad) return false;
  skipped.push_back(record);
  return true;
}

namespace {

// A test without its files has nothing to say.
[[noreturn]] void CannotMake(const std::string& path) {
  std::perror(path.c_str());
  std::abort();
}

}  // namespace

ScratchFile::ScratchFile(std::string_view contents, std::string_view suffix) {
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) CannotMake(pattern);
  folder_ = pattern;
  path_ = folder_ + "/input" + std::string(suffix);
  std::FILE* const file = std::fopen(path_.c_str(), "wb");
  if (file == nullptr) CannotMake(path_);
  const std::size_t written = std::fwrite(contents.data(), 1, contents.size(), file);
  if (std::fclose(file) != 0 || written != contents.size()) CannotMake(path_);
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

InputRange ScratchFile::range() const {
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  return {path_, 0, bytes, bytes};
}

}  // namespace weir::testing
