#include "runtime/master/workers/worker_logs.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/limits.h"

namespace weir::master {
namespace {

std::vector<v1::WorkerLog> Logs(const std::vector<std::string>& words) {
  std::vector<v1::WorkerLog> logs;
  for (const std::string& said : words) {
    v1::WorkerLog& log = logs.emplace_back();
    log.set_worker(absl::StrCat("worker-", logs.size()));
    log.set_output_tail(said);
  }
  return logs;
}

std::vector<std::string> WordsOf(const std::vector<v1::WorkerLog>& logs) {
  std::vector<std::string> words;
  for (const v1::WorkerLog& log : logs) words.push_back(log.output_tail());
  return words;
}

TEST(WorkerLogs, ThoseThatFitStayAsTheyAre) {
  EXPECT_EQ(WordsOf(FittedLogs(Logs({"abc", "", "defgh"}), 8)),
            (std::vector<std::string>{"abc", "", "defgh"}));
  EXPECT_TRUE(FittedLogs({}, 8).empty());
}

TEST(WorkerLogs, TheLongestLoseWhatComesFirst) {
  const std::vector<v1::WorkerLog> fitted = FittedLogs(Logs({"abcdefgh", "xy", "ijklmnop"}), 8);
  EXPECT_EQ(WordsOf(fitted), (std::vector<std::string>{"fgh", "xy", "nop"}));
  EXPECT_EQ(fitted[2].worker(), "worker-3");
}

TEST(WorkerLogs, ThoseOfAThousandWorkersFitAQuarterOfAMessage) {
  const std::string words(limits::kTaskOutputTailBytes, 'w');
  const std::vector<v1::WorkerLog> fitted =
      FittedLogs(Logs(std::vector<std::string>(limits::kWorkersMax, words)));
  std::size_t bytes = 0;
  for (const v1::WorkerLog& log : fitted) bytes += log.ByteSizeLong();
  EXPECT_EQ(fitted.size(), std::size_t{limits::kWorkersMax});
  EXPECT_LT(bytes, std::size_t{limits::kMessageBytesMax} / 4 + (100 << 10)) << "and their names";
}

}  // namespace
}  // namespace weir::master
