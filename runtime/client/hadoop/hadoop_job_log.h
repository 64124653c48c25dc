#pragma once

// What a job says as Hadoop's client logs it, for programs that read that. Upstream: statuses of a
// watch. Downstream: stderr of `weir hadoop jar`.

#include <ostream>
#include <string>

#include "weir/v1/job.pb.h"

namespace weir::client {

/// "job_20260131120000_6699" for Weir's "j-20260131-120000-1a2b": time, and four digits.
std::string HadoopJobId(const std::string& job_id);

/// How far a job is, 0 to 100; reduce: moving the data counts for a third, as in Hadoop.
int MapPercent(const v1::JobStatus& status);
int ReducePercent(const v1::JobStatus& status);

/// "Counters: 3", groups with a tab and counters with two before them, as Hadoop prints them.
/// Counters of scripts have their group in their name; others stand under "Weir". With `volumes`
/// the bytes that were read and written too. Empty where there are none.
std::string DescribeCounters(const v1::JobStatus& status, bool volumes);

/// Writes log lines "DATE TIME LEVEL LOGGER: MESSAGE" in UTC: which job runs, how far it is, how it
/// ended, its counters, where its output lies.
///
/// Time: that of the statuses. Checked by: tests/unit/client/hadoop_test.cc,
/// tests/integration/mrjob_test.py.
class HadoopJobLog {
 public:
  /// `output`: the output directory, as the user named it.
  HadoopJobLog(std::ostream& out, std::string output) : out_(out), output_(std::move(output)) {}

  /// Each status of the job, in order; the last one is terminal.
  void Show(const v1::JobStatus& status);

 private:
  void Line(const v1::JobStatus& status, const char* level, const char* logger,
            const std::string& message);
  void ShowEnd(const v1::JobStatus& status, const std::string& id);

  std::ostream& out_;
  const std::string output_;
  bool begun_ = false;
  std::string last_progress_;
};

}  // namespace weir::client
