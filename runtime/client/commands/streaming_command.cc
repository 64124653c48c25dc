// weir streaming: weir run stream, as Hadoop Streaming says and ends it.

#include <string>

#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/hadoop/hadoop_job_log.h"
#include "runtime/client/job_spec.h"

namespace weir::client {
int Streaming(const StreamingOptions& options, CommandHost& host) {
  const RunEnd end = RunToTheEnd(options.run, host);
  if (!options.run.quiet) host.err << DescribeCounters(end.status, /*volumes=*/false);
  return FinishStreaming(options, end, host);
}

int FinishStreaming(const StreamingOptions& options, const RunEnd& end, CommandHost& host) {
  if (end.code != kExitOk) return HadoopExitCode(end.code, end.error_code);
  if (!options.mark_success) return kHadoopOk;
  const std::string output = AbsolutePath(options.run.job.output, host.working_directory);
  const absl::Status marked = host.storage.WriteFileAtomically(output + "/_SUCCESS", "");
  if (marked.ok()) return kHadoopOk;
  host.err << "weir: the result is whole, but " << output
           << "/_SUCCESS was not written: " << std::string(marked.message()) << '\n';
  return kHadoopIo;
}

}  // namespace weir::client
