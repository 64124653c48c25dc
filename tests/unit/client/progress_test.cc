#include "runtime/client/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "runtime/base/valid_utf8.h"

namespace weir::client {
namespace {

v1::JobStatus Running(std::int64_t done, std::int64_t total, double elapsed_s, double remaining_s) {
  v1::JobStatus status;
  status.set_state(v1::JOB_STATE_RUNNING);
  auto* progress = status.mutable_progress();
  progress->set_input_bytes_done(done);
  progress->set_input_bytes_total(total);
  progress->set_elapsed_s(elapsed_s);
  progress->set_remaining_s(remaining_s);
  progress->set_done_fraction(total > 0 ? static_cast<double>(done) / static_cast<double>(total)
                                        : 0);
  return status;
}

TEST(ProgressLine, ShowsBarRateAndTimeLeft) {
  EXPECT_EQ(ProgressLine(Running(512'000'000, 1'024'000'000, 4, 4), 100),
            "[###############>              ]  50%  map  512.0 MB of 1.0 GB  128.0 MB/s  4.0 s "
            "left");
}

TEST(ProgressLine, EndsWithWhatAStepSays) {
  v1::JobStatus status = Running(512'000'000, 1'024'000'000, 4, 4);
  status.mutable_progress()->set_status("map 3: page 7 of 9");
  EXPECT_TRUE(ProgressLine(status, 150).ends_with("4.0 s left  map 3: page 7 of 9"));
  status.set_state(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ProgressLine(status, 150).find("page"), std::string::npos);
}

TEST(ProgressLine, IsCutBetweenCharacters) {
  v1::JobStatus status = Running(1, 3, 1, 2);
  status.mutable_progress()->set_status("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc");
  for (int columns = 0; columns < 80; ++columns) {
    const std::string line = ProgressLine(status, columns);
    EXPECT_EQ(ValidUtf8(line), line);
  }
}

TEST(ProgressLine, FitsAnyWidth) {
  v1::JobStatus status = Running(1, 3, 1, 2);
  status.mutable_progress()->set_status("map 3: says much");
  for (int columns = 0; columns < 150; ++columns) {
    EXPECT_LE(ProgressLine(status, columns).size(), static_cast<std::size_t>(columns));
  }
}

TEST(ProgressLine, NeverLeavesItsRange) {
  EXPECT_EQ(DoneFraction(Running(5, 0, 0, -1)), 0);
  EXPECT_EQ(DoneFraction(Running(1, 4, 3, -1)), 0.25);
  EXPECT_EQ(DoneFraction(Running(500, 100, 3, -1)), 1);
  v1::JobStatus status;
  EXPECT_EQ(DoneFraction(status), 0);
  status.set_state(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(DoneFraction(status), 1);
}

TEST(ProgressLine, NamesThePhase) {
  v1::JobStatus status = Running(3, 3, 1, 1);
  status.mutable_progress()->set_shuffle_bytes_total(2000);
  status.mutable_progress()->set_shuffle_bytes_done(1000);
  EXPECT_NE(ProgressLine(status, 100).find("shuffle and reduce  1.0 kB of 2.0 kB"),
            std::string::npos);
  status.set_state(v1::JOB_STATE_COMMITTING);
  EXPECT_EQ(PhaseName(status), "publishing");
}

TEST(ProgressPrinter, RedrawsOnATerminalAndCleansUp) {
  std::ostringstream out;
  ProgressPrinter printer(out, {.is_terminal = true, .columns = 60});
  printer.Show(Running(1, 4, 1, 3));
  printer.Clear();
  printer.Clear();
  const std::string text = out.str();
  EXPECT_EQ(text.front(), '\r');
  EXPECT_TRUE(text.ends_with("\r\033[K"));
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(ProgressPrinter, WritesFewPlainLinesElsewhere) {
  std::ostringstream out;
  ProgressPrinter printer(out, {});
  for (int i = 0; i <= 1000; ++i) printer.Show(Running(i, 1000, i, 1000 - i));
  const std::string text = out.str();
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  std::ostringstream short_job;
  ProgressPrinter brief(short_job, {});
  for (int i = 0; i <= 1000; ++i) brief.Show(Running(i, 1000, i * 1e-3, 1));
  EXPECT_EQ(short_job.str(), "") << "it was over within a second";
  std::ostringstream waiting_job;
  ProgressPrinter waiting(waiting_job, {});
  v1::JobStatus queued;
  queued.set_state(v1::JOB_STATE_QUEUED);
  waiting.Show(queued);
  EXPECT_EQ(waiting_job.str(), "") << "it is about to run";
  queued.set_place_in_queue(2);
  waiting.Show(queued);
  EXPECT_EQ(waiting_job.str(), "0%  queued, place 2\n");
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, 10);
  EXPECT_LE(lines, 13);
}

}  // namespace
}  // namespace weir::client
