#include "runtime/client/hadoop/hadoop_job_log.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/flags/exit_codes.h"

namespace weir::client {
namespace {

constexpr char kJob[] = "mapreduce.Job";
constexpr char kStreamJob[] = "streaming.StreamJob";

int Percent(std::int64_t done, std::int64_t total) {
  return total <= 0 ? 0 : static_cast<int>(std::clamp<std::int64_t>(100 * done / total, 0, 100));
}

bool Begun(const v1::JobStatus& status) {
  return status.state() != v1::JOB_STATE_QUEUED && status.state() != v1::JOB_STATE_PLANNING &&
         status.state() != v1::JOB_STATE_UNSPECIFIED;
}

std::string ProgressMessage(const v1::JobStatus& status) {
  return absl::StrFormat(" map %d%% reduce %d%%", MapPercent(status), ReducePercent(status));
}

}  // namespace

std::string HadoopJobId(const std::string& job_id) {
  const std::size_t last = job_id.rfind('-');
  std::string time;
  for (const char c : job_id.substr(0, last)) {
    if (absl::ascii_isdigit(static_cast<unsigned char>(c))) time.push_back(c);
  }
  std::uint64_t number = 0;
  if (last == std::string::npos || !absl::SimpleHexAtoi(job_id.substr(last + 1), &number)) {
    number = 0;
  }
  return absl::StrFormat("job_%s_%04d", time.empty() ? "0" : time, number % 10'000);
}

int MapPercent(const v1::JobStatus& status) {
  if (status.state() == v1::JOB_STATE_SUCCEEDED || status.state() == v1::JOB_STATE_COMMITTING) {
    return 100;
  }
  return Percent(status.progress().input_bytes_done(), status.progress().input_bytes_total());
}

int ReducePercent(const v1::JobStatus& status) {
  if (status.state() == v1::JOB_STATE_SUCCEEDED || status.state() == v1::JOB_STATE_COMMITTING) {
    return 100;
  }
  return Percent(status.progress().shuffle_bytes_done(), status.progress().shuffle_bytes_total()) /
         3;
}

std::string DescribeCounters(const v1::JobStatus& status, bool volumes) {
  absl::btree_map<std::string, std::vector<std::string>> groups;
  int count = 0;
  const auto add = [&](const std::string& group, const std::string& name, std::int64_t value) {
    groups[EscapeControls(group)].push_back(absl::StrCat(EscapeControls(name), "=", value));
    ++count;
  };
  for (const v1::Counter& counter : status.counters()) {
    const std::size_t comma = counter.name().find(',');
    const bool grouped = comma != std::string::npos;
    add(grouped ? counter.name().substr(0, comma) : "Weir",
        counter.name().substr(grouped ? comma + 1 : 0), counter.value());
  }
  if (volumes) {
    std::int64_t bytes = 0, records = 0;
    for (const v1::OutputPart& part : status.parts()) {
      bytes += part.bytes();
      records += part.records();
    }
    add("File Input Format Counters ", "Bytes Read", status.progress().input_bytes_total());
    add("File Output Format Counters ", "Bytes Written", bytes);
    add("Map-Reduce Framework", "Output records", records);
  }
  if (groups.empty()) return "";
  std::string text = absl::StrCat("Counters: ", count, "\n");
  for (const auto& [group, counters] : groups) {
    absl::StrAppend(&text, "\t", group, "\n");
    for (const std::string& counter : counters) absl::StrAppend(&text, "\t\t", counter, "\n");
  }
  return text;
}

void HadoopJobLog::Show(const v1::JobStatus& status) {
  const std::string id = HadoopJobId(status.job_id());
  if (!begun_ && (Begun(status) || IsTerminal(status.state()))) {
    begun_ = true;
    Line(status, "INFO", kJob, absl::StrCat("Running job: ", id));
    Line(status, "INFO", kJob,
         absl::StrCat("Job ", id, " is ", status.job_id(), " of Weir (weir logs, weir explain)"));
  }
  if (!begun_) return;
  const std::string progress = ProgressMessage(status);
  if (progress != last_progress_) {
    last_progress_ = progress;
    Line(status, "INFO", kJob, progress);
  }
  if (IsTerminal(status.state())) ShowEnd(status, id);
}

void HadoopJobLog::ShowEnd(const v1::JobStatus& status, const std::string& id) {
  if (status.state() == v1::JOB_STATE_SUCCEEDED) {
    Line(status, "INFO", kJob, absl::StrCat("Job ", id, " completed successfully"));
    std::string counters = DescribeCounters(status, /*volumes=*/true);
    counters.pop_back();  // Line ends it
    Line(status, "INFO", kJob, counters);
    Line(status, "INFO", kStreamJob, absl::StrCat("Output directory: ", output_));
    return;
  }
  Line(status, "INFO", kJob,
       absl::StrCat("Job ", id, " failed with state ",
                    status.state() == v1::JOB_STATE_CANCELLED ? "KILLED" : "FAILED"));
  // What is said of the error follows on lines of its own, which readers take for this one's.
  const bool reduce = status.error().step().starts_with("reduce");
  Line(status, "INFO", kJob,
       absl::StrFormat("Task Id : attempt_%s_%s_%06d_0, Status : FAILED", id.substr(4),
                       reduce ? "r" : "m", 0));
}

void HadoopJobLog::Line(const v1::JobStatus& status, const char* level, const char* logger,
                        const std::string& message) {
  const absl::Time time = absl::FromUnixMillis(status.submitted_unix_ms()) +
                          absl::Seconds(status.progress().elapsed_s());
  out_ << absl::FormatTime("%y/%m/%d %H:%M:%S", time, absl::UTCTimeZone()) << ' ' << level << ' '
       << logger << ": " << message << '\n'
       << std::flush;
}

}  // namespace weir::client
