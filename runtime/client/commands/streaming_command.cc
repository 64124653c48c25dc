// weir streaming: weir run stream, as Hadoop Streaming says and ends it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/job_spec.h"

namespace weir::client {
namespace {

// By group, as Hadoop lists them and programs around it read them. Other counters have no group.
std::string DescribeCounters(const v1::JobStatus& status) {
  absl::btree_map<std::string, std::vector<std::string>> groups;
  for (const v1::Counter& counter : status.counters()) {
    const std::size_t comma = counter.name().find(',');
    const bool grouped = comma != std::string::npos;
    groups[grouped ? counter.name().substr(0, comma) : "Weir"].push_back(
        absl::StrCat(counter.name().substr(grouped ? comma + 1 : 0), "=", counter.value()));
  }
  if (groups.empty()) return "";
  std::string text = absl::StrCat("Counters: ", status.counters_size(), "\n");
  for (const auto& [group, counters] : groups) {
    absl::StrAppend(&text, "\t", group, "\n");
    for (const std::string& counter : counters) absl::StrAppend(&text, "\t\t", counter, "\n");
  }
  return text;
}

}  // namespace

int Streaming(const StreamingOptions& options, CommandHost& host) {
  const RunEnd end = RunToTheEnd(options.run, host);
  if (!options.run.quiet) host.err << DescribeCounters(end.status);
  if (end.code != kExitOk) return HadoopExitCode(end.code, end.error_code);
  if (!options.mark_success) return kHadoopOk;
  const std::string output = AbsolutePath(options.run.job.output, host.working_directory);
  const absl::Status marked = host.storage.WriteFile(output + "/_SUCCESS", "");
  if (marked.ok()) return kHadoopOk;
  host.err << "weir: the result is whole, but " << output
           << "/_SUCCESS was not written: " << std::string(marked.message()) << '\n';
  return kHadoopIo;
}

}  // namespace weir::client
