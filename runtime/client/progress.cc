#include "runtime/client/progress.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/base/job_state_words.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/flags/value_text.h"

namespace weir::client {
namespace {

bool MapsDone(const v1::JobProgress& progress) {
  return progress.input_bytes_total() > 0 &&
         progress.input_bytes_done() >= progress.input_bytes_total();
}

std::string Bar(double fraction, int cells) {
  const int full = static_cast<int>(fraction * cells + 0.5);
  std::string bar = "[";
  for (int i = 0; i < cells; ++i) bar += i < full ? '#' : i == full ? '>' : ' ';
  return bar + "]";
}

}  // namespace

std::string PhaseName(const v1::JobStatus& status) {
  switch (status.state()) {
    case v1::JOB_STATE_QUEUED:
      return status.place_in_queue() > 0 ? absl::StrCat("queued, place ", status.place_in_queue())
                                         : JobStateInWords(status.state());
    case v1::JOB_STATE_RUNNING:
      if (!status.progress().measure_name().empty()) {
        return absl::StrCat("iteration ", status.progress().iteration(), " of ",
                            status.progress().iterations_max());
      }
      return MapsDone(status.progress()) ? "shuffle and reduce" : "map";
    default:
      return JobStateInWords(status.state());
  }
}

double DoneFraction(const v1::JobStatus& status) {
  const v1::JobProgress& progress = status.progress();
  switch (status.state()) {
    case v1::JOB_STATE_COMMITTING:
    case v1::JOB_STATE_SUCCEEDED:
      return 1;
    case v1::JOB_STATE_RUNNING:
    case v1::JOB_STATE_ENDING:
    case v1::JOB_STATE_FAILED:
    case v1::JOB_STATE_CANCELLED:
      break;
    default:
      return 0;
  }
  return std::clamp(progress.done_fraction(), 0.0, 1.0);
}

std::string ProgressLine(const v1::JobStatus& status, int columns) {
  const v1::JobProgress& progress = status.progress();
  const double fraction = DoneFraction(status);
  std::string text = absl::StrFormat(" %3.0f%%  %s", fraction * 100, PhaseName(status));
  if (status.state() == v1::JOB_STATE_RUNNING && !progress.measure_name().empty()) {
    // Before the second pass there may be nothing to measure.
    if (std::isfinite(progress.measure())) {
      absl::StrAppend(&text, ", ", progress.measure_name(), " ",
                      absl::StrFormat("%.6g", progress.measure()));
    }
    if (progress.remaining_s() >= 0) {
      absl::StrAppend(&text, "  at most ", FormatSeconds(progress.remaining_s()), " left");
    }
  } else if (status.state() == v1::JOB_STATE_RUNNING) {
    const bool shuffling = MapsDone(progress) && progress.shuffle_bytes_total() > 0;
    const std::int64_t done =
        shuffling ? progress.shuffle_bytes_done() : progress.input_bytes_done();
    const std::int64_t total =
        shuffling ? progress.shuffle_bytes_total() : progress.input_bytes_total();
    absl::StrAppend(&text, "  ", FormatBytes(static_cast<double>(done)), " of ",
                    FormatBytes(static_cast<double>(total)));
    if (!shuffling && progress.elapsed_s() > 0 && done > 0) {
      absl::StrAppend(&text, "  ", FormatBytes(static_cast<double>(done) / progress.elapsed_s()),
                      "/s");
    }
    if (progress.remaining_s() >= 0) {
      absl::StrAppend(&text, "  ", FormatSeconds(progress.remaining_s()), " left");
    }
  }
  if (status.state() == v1::JOB_STATE_RUNNING && !progress.status().empty()) {
    absl::StrAppend(&text, "  ", progress.status());
  }
  constexpr int kBarCellsMax = 30, kBarCellsMin = 5;
  const int room = columns - static_cast<int>(text.size()) - 3;
  std::string line =
      room >= kBarCellsMin ? Bar(fraction, std::min(room, kBarCellsMax)) + text : text.substr(1);
  if (line.size() > static_cast<std::size_t>(std::max(columns, 0))) {
    auto end = static_cast<std::size_t>(std::max(columns, 0));
    // Not in the middle of a character.
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
    line.resize(end);
  }
  return line;
}

std::string PlanLine(const v1::JobStatus& status) {
  const std::string& plan_text = status.plan_text();
  const auto input_bytes = static_cast<double>(status.progress().input_bytes_total());
  const std::string begin =
      input_bytes > 0 ? absl::StrCat("plan: ", FormatBytes(input_bytes), " on ") : "plan: ";
  // Of a small input nothing is sampled: nobody shall take such a time for a measured one.
  const bool guessed = absl::StrContains(plan_text, "Guessed, not measured: map rate");
  constexpr absl::string_view kPredicted = "predicted ";
  std::string line;
  for (const absl::string_view row : absl::StrSplit(plan_text, '\n')) {
    if (row.empty()) break;  // behind the head
    for (const auto& [fact, before] : {std::pair<absl::string_view, absl::string_view>{"size ", ""},
                                       {kPredicted, kPredicted},
                                       {"limit ", "limited by "}}) {
      absl::string_view value = absl::StripLeadingAsciiWhitespace(row);
      if (value.size() == row.size() || !absl::ConsumePrefix(&value, fact)) continue;
      absl::StrAppend(&line, line.empty() ? begin : "; ", before,
                      absl::StripAsciiWhitespace(value));
      if (guessed && fact == kPredicted) absl::StrAppend(&line, " by default rates");
    }
  }
  return line.empty() ? plan_text.substr(0, plan_text.find('\n')) : line;
}

void ProgressPrinter::Show(const v1::JobStatus& status) {
  if (terminal_.is_terminal) {
    if (IsTerminal(status.state())) {
      Clear();
      return;
    }
    // The last column is left free: some terminals wrap there.
    out_ << '\r' << ProgressLine(status, terminal_.columns - 1) << "\033[K" << std::flush;
    line_shown_ = true;
    return;
  }
  // A job that is over before anybody wonders needs no lines; a place in the queue has one.
  constexpr double kPlainAfterS = 2;
  const bool queued = status.state() == v1::JOB_STATE_QUEUED && status.place_in_queue() > 0;
  if (!queued && status.progress().elapsed_s() < kPlainAfterS) return;
  const std::string phase = PhaseName(status);
  const int tenth = static_cast<int>(DoneFraction(status) * 10);
  if (phase == last_phase_ && tenth <= last_tenth_) return;
  last_phase_ = phase;
  last_tenth_ = std::max(tenth, last_tenth_);
  constexpr int kPlainColumns = 200;
  std::string line = ProgressLine(status, kPlainColumns);
  line = line.substr(line.find(']') == std::string::npos ? 0 : line.find(']') + 2);
  out_ << absl::StripLeadingAsciiWhitespace(line) << '\n' << std::flush;
}

void ProgressPrinter::Clear() {
  if (!line_shown_) return;
  out_ << "\r\033[K" << std::flush;
  line_shown_ = false;
}

std::string DescribeLoss(const v1::WorkerLoss& loss) {
  // Of a job that has lost many, one stands for the oldest.
  if (loss.worker().empty()) return EscapeControls(loss.why());
  std::string text = absl::StrCat("worker ", loss.worker(), " ", loss.why());
  if (!loss.step().empty()) absl::StrAppend(&text, " (in ", loss.step(), ")");
  if (!loss.edit().empty()) {
    absl::StrAppend(&text, "; the plan goes on (", loss.steps_redone(),
                    loss.steps_redone() == 1 ? " step" : " steps", " done again");
    if (loss.runs_kept() > 0) {
      absl::StrAppend(&text, ", ", loss.runs_kept(), loss.runs_kept() == 1 ? " run" : " runs",
                      " kept");
    }
    absl::StrAppend(&text, ")");
  } else if (loss.plan_epoch() > 0) {
    absl::StrAppend(&text, "; planned again (epoch ", loss.plan_epoch(), ")");
  }
  return EscapeControls(text);
}

int FirstLossAfter(const std::optional<v1::WorkerLoss>& shown, const v1::JobStatus& status) {
  int first = shown ? status.losses_size() : 0;
  for (; first > 0; --first) {
    const v1::WorkerLoss& loss = status.losses(first - 1);
    if (loss.worker() == shown->worker() && loss.unix_ms() == shown->unix_ms() &&
        loss.step() == shown->step() && loss.plan_epoch() == shown->plan_epoch()) {
      break;
    }
  }
  return first;
}

std::string DescribeSkipped(const v1::SkippedRecord& record) {
  const std::string place = record.file().empty()
                                ? "a result of the layer before"
                                : absl::StrCat(record.file(), " at byte ", record.byte_offset());
  return EscapeControls(absl::StrCat(place, ": ", record.reason(), ": '", record.content(), "'"));
}

}  // namespace weir::client
