#include "jobs/stream/script_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "jobs/api/counter_sum.h"
#include "jobs/api/step_error.h"
#include "jobs/stream/contract/reporter_line.h"

namespace weir::stream {
namespace {

// A longer line of stderr is passed on in pieces; no report is that long.
constexpr std::size_t kErrorLineBytesMax = 64 << 10;

constexpr char kSeeStderr[] =
    "see its last lines on stderr; 'weir logs' has more of a cluster's job, and it can be tried by "
    "hand: cat INPUT | "
    "COMMAND";

constexpr char kMendFirstLine[] =
    "mend its first line, or name who reads it in the command, as in 'python3 map.py'";

const char* AdviceFor(const absl::Status& not_started) {
  if (absl::IsFailedPrecondition(not_started)) return kMendFirstLine;
  if (absl::IsPermissionDenied(not_started)) return "make it executable (chmod +x)";
  if (absl::IsResourceExhausted(not_started)) return "see the limits of the worker's user (ulimit)";
  return "name a program that every worker has, or ship it with the job (-files PATH of weir "
         "streaming, --file PATH of weir run)";
}

}  // namespace

ScriptRun::ScriptRun(const char* role, const ScriptCommand& command, const StreamSpec& spec,
                     StepContext& context, const std::function<bool()>& is_stopped,
                     TakeLines take_lines, OutputForm output_form)
    : role_(role),
      command_(command),
      spec_(spec),
      context_(context),
      is_stopped_(is_stopped),
      take_lines_(std::move(take_lines)),
      output_form_(output_form) {}

ScriptRun::~ScriptRun() = default;

absl::Status ScriptRun::Start(std::vector<std::string> environment, std::string directory,
                              std::string path) {
  auto script = Script::Start({.words = command_.words,
                               .environment = std::move(environment),
                               .directory = std::move(directory),
                               .path = std::move(path),
                               .silence_ms = spec_.silence_ms},
                              *this);
  if (!script.ok()) {
    return Named(step_error::kUserError,
                 absl::StrCat("cannot be started: ", script.status().message()),
                 AdviceFor(script.status()));
  }
  script_ = *std::move(script);
  return absl::OkStatus();
}

absl::Status ScriptRun::Write(std::string_view text, const TextBlock& block) {
  if (file_ != *block.path) file_ = *block.path;
  block_offset_ = block.file_offset;
  block_bytes_ = block.bytes;
  written_before_ = script_->written();
  return Feed(text);
}

absl::Status ScriptRun::Write(std::string_view text, std::string_view last_key) {
  last_key_.assign(last_key.substr(0, 200));
  return Feed(text);
}

absl::Status ScriptRun::Feed(std::string_view text) {
  offered_ += static_cast<std::int64_t>(text.size());
  if (!ended_) {
    if (absl::Status status = script_->Write(text); !status.ok()) return Named(status);
    if (!script_->closed()) return absl::OkStatus();
    if (absl::Status status = End(); !status.ok()) return status;
  }
  if (offered_ <= kInputIgnoredMax) return absl::OkStatus();
  return Named(step_error::kUserError,
               absl::StrCat("closed its input before it had read all of it, and ", how_),
               "let it read its stdin to the end");
}

absl::Status ScriptRun::Finish() { return ended_ ? absl::OkStatus() : End(); }

absl::Status ScriptRun::End() {
  ended_ = true;
  const absl::StatusOr<ScriptEnd> end = script_->Finish();
  if (!end.ok()) return Named(end.status());
  if (!begun_error_line_.empty()) {
    if (absl::Status status = HearErrorLine(begun_error_line_); !status.ok()) return status;
  }
  ReportCounters();
  how_ = end->Describe();
  if (end->signal != 0 || (end->exit_code != 0 && spec_.non_zero_exit_fails)) {
    return Named(step_error::kUserError, how_,
                 end->windows_line.empty() ? kSeeStderr : kMendFirstLine);
  }
  return TakeRest();
}

absl::Status ScriptRun::OnOutput(std::string_view bytes) {
  if (output_form_ == OutputForm::kBytes) return take_lines_(bytes);
  const std::size_t last = bytes.rfind('\n');
  if (last == std::string_view::npos) {
    begun_line_.append(bytes);
    if (static_cast<std::int64_t>(begun_line_.size()) <= kOutputLineBytesMax) {
      return absl::OkStatus();
    }
    return Named(
        step_error::kUserError,
        absl::StrCat("wrote a line of more than ", kOutputLineBytesMax, " bytes"),
        "let it end each record with a newline; binary data must be encoded, as in base64");
  }
  std::string_view whole = bytes.substr(0, last + 1);
  if (!begun_line_.empty()) {
    const std::size_t first = whole.find('\n');
    begun_line_.append(whole.substr(0, first + 1));
    absl::Status taken = take_lines_(begun_line_);
    begun_line_.clear();
    if (!taken.ok()) return taken;
    whole.remove_prefix(first + 1);
  }
  begun_line_.assign(bytes.substr(last + 1));
  return whole.empty() ? absl::OkStatus() : take_lines_(whole);
}

// The last line may lack its newline.
absl::Status ScriptRun::TakeRest() {
  if (begun_line_.empty()) return absl::OkStatus();
  begun_line_.push_back('\n');
  return take_lines_(std::exchange(begun_line_, {}));
}

absl::Status ScriptRun::OnErrorOutput(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    begun_error_line_.append(bytes.substr(0, newline));
    if (newline == std::string_view::npos && begun_error_line_.size() < kErrorLineBytesMax) break;
    absl::Status heard = HearErrorLine(std::exchange(begun_error_line_, {}));
    if (!heard.ok()) return heard;
    if (newline == std::string_view::npos) break;
    bytes.remove_prefix(newline + 1);
  }
  return absl::OkStatus();
}

absl::Status ScriptRun::HearErrorLine(std::string_view line) {
  const ReporterLine read = ReadReporterLine(line, spec_.reporter_prefix);
  if (read.kind == ReporterLine::Kind::kCounter) {
    AddToCounter(counters_[read.name], read.value);
    if (counters_.size() <= kCountersMax) return absl::OkStatus();
    return Named(step_error::kUserError,
                 absl::StrCat("counted under more than ", kCountersMax, " names"),
                 "count under fewer names; what differs from record to record is output");
  }
  if (read.kind == ReporterLine::Kind::kStatus) context_.SetStatus(read.text);
  const std::string said = absl::StrCat(absl::string_view(line.data(), line.size()), "\n");
  SayOnStderr(said);
  last_words_.append(said);
  if (last_words_.size() > 2 * kLastWordsBytes) {
    last_words_.erase(0, last_words_.size() - kLastWordsBytes);
  }
  return absl::OkStatus();
}

void ScriptRun::ReportCounters() {
  for (const auto& [name, value] : counters_) context_.AddCounter(name, value);
  counters_.clear();
}

absl::Status ScriptRun::Named(const absl::Status& status) const {
  if (absl::IsDeadlineExceeded(status)) {
    return Named(
        step_error::kTaskHung,
        absl::StrCat(std::string(status.message()), " for ", spec_.silence_ms / 1000.0, " s"),
        "see whether it waits for something; a status line on stderr (reporter:status:) "
        "shows that it lives, and -D mapreduce.task.timeout=MS gives it longer");
  }
  // The job is being ended, or whoever took its output has said what is wrong.
  return status;
}

absl::Status ScriptRun::Named(std::string_view code, const std::string& what,
                              const std::string& advice) const {
  StepError error;
  error.code = std::string(code);
  error.advice = advice;
  error.message = absl::StrCat(role_, " '", command_.text, "' ", what);
  if (!file_.empty()) {
    error.file = file_;
    error.byte_offset =
        block_offset_ +
        std::min(block_bytes_, script_ == nullptr ? 0 : script_->written() - written_before_);
    absl::StrAppend(&error.message, "; it had been given ", file_, " up to byte ",
                    error.byte_offset);
  } else if (script_ != nullptr) {
    absl::StrAppend(
        &error.message, "; it had been given ", script_->written(), " bytes",
        last_key_.empty() ? "" : absl::StrCat(", up to key '", absl::CHexEscape(last_key_), "'"));
  }
  error.stderr_tail =
      last_words_.substr(last_words_.size() - std::min(last_words_.size(), kLastWordsBytes));
  return StepErrorStatus(absl::StatusCode::kFailedPrecondition, error);
}

}  // namespace weir::stream
