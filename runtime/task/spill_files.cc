#include "runtime/task/spill_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/task_memory.h"
#include "runtime/format/run_reader.h"
#include "runtime/format/run_writer.h"
#include "runtime/task/counting_io.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {
namespace {

// What is wrong with it concerns nobody else's run.
absl::Status OwnError(absl::Status status) {
  if (!format::DamagedRunPath(status)) return status;
  return ErrnoStatus(EIO, absl::StrCat("cannot read back what the step put on disk: ",
                                       std::string(status.message())));
}

// As CountingRunSource, without its count: the order says nothing of these bytes.
class SpillSource : public RunSource {
 public:
  SpillSource(std::unique_ptr<format::RunReader> source, StepActivity& activity)
      : source_(std::move(source)), activity_(activity) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    const FileIo io(activity_);
    absl::StatusOr<absl::Span<const char>> block = source_->NextBlock();
    if (!block.ok()) return OwnError(block.status());
    return block;
  }
  absl::StatusOr<bool> TakeBlock(std::string& block) override {
    const FileIo io(activity_);
    const absl::StatusOr<bool> taken = source_->TakeBlock(block);
    if (!taken.ok()) return OwnError(taken.status());
    return taken;
  }

 private:
  const std::unique_ptr<format::RunReader> source_;
  StepActivity& activity_;
};

class RunAsSpill : public SpillFile {
 public:
  RunAsSpill(std::string path, std::unique_ptr<format::RunWriter> writer, StepActivity& activity)
      : path_(std::move(path)), writer_(std::move(writer)), activity_(activity) {}
  ~RunAsSpill() override {
    writer_.reset();
    // What is left costs space until the job's release, no more.
    (void)::unlink(path_.c_str());
  }

  absl::Status BeginSection(int consumer) override { return writer_->BeginSection(consumer); }
  absl::Status Append(std::string_view block, std::int64_t records) override {
    const FileIo io(activity_);
    return writer_->Append(block, records);
  }
  void Ready(int consumer, std::string_view block, std::int64_t records,
             ReadyBlock& ready) override {
    writer_->Ready(consumer, block, records, ready);
  }
  absl::Status AppendReady(const ReadyBlock& block) override {
    const FileIo io(activity_);
    return writer_->AppendReady(block);
  }

  absl::Status Finish() override {
    const FileIo io(activity_);
    absl::StatusOr<v1::RunInfo> info = writer_->Finish("spill");
    if (!info.ok()) return info.status();
    info_ = *std::move(info);
    writer_.reset();
    // One for all who read it: many slots merge many files.
    Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open ", path_));
    file_ = std::make_shared<const Fd>(std::move(file));
    std::int64_t bytes = 0;
    for (const v1::RunSection& section : info_.sections()) bytes += section.bytes();
    activity_.AddCounter(kSpilledBytes, bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<RunSource>> Open(int consumer) const override {
    const auto section = std::lower_bound(
        info_.sections().begin(), info_.sections().end(), consumer,
        [](const v1::RunSection& of, int wanted) { return of.consumer_step() < wanted; });
    if (section == info_.sections().end() || section->consumer_step() != consumer) {
      return std::make_unique<EmptyRunSource>();
    }
    auto reader = format::RunReader::Of(file_, path_, section->offset(), section->bytes());
    if (!reader.ok()) return reader.status();
    return std::make_unique<SpillSource>(*std::move(reader), activity_);
  }

 private:
  const std::string path_;
  std::unique_ptr<format::RunWriter> writer_;  // until Finish
  StepActivity& activity_;
  std::shared_ptr<const Fd> file_;  // since Finish
  v1::RunInfo info_;                // sections in rising order of consumer
};

constexpr std::string_view kPrefix = "spill-";

// "spill-STEP-ATTEMPT-NUMBER": users may ship files of other names that begin so.
bool IsSpill(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return false;
  const std::vector<absl::string_view> numbers =
      absl::StrSplit(absl::string_view(name.data(), name.size()).substr(kPrefix.size()), '-');
  return numbers.size() == 3 &&
         std::all_of(numbers.begin(), numbers.end(), [](absl::string_view number) {
           return !number.empty() &&
                  number.find_first_not_of("0123456789") == absl::string_view::npos;
         });
}

}  // namespace

void RemoveSpills(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> spills;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (IsSpill(entry->path().filename().native())) spills.push_back(entry->path());
  }
  for (const std::filesystem::path& spill : spills) std::filesystem::remove(spill, error);
}

absl::StatusOr<std::unique_ptr<SpillFile>> SpillFiles::New() {
  std::string path = absl::StrCat(path_, next_++);
  // Of a process that was killed; nobody else writes files of this name.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, absl::StrCat("cannot remove ", path));
  }
  auto writer = format::RunWriter::Create(path, v1::CODEC_NONE, format::TryCodecs::kNo);
  if (!writer.ok()) return writer.status();
  return std::make_unique<RunAsSpill>(std::move(path), *std::move(writer), activity_);
}

}  // namespace weir::task
