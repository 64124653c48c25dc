#include "runtime/master/workers/worker_logs.h"

#include <algorithm>
#include <string>

namespace weir::master {
namespace {

// The length down to which those that are longer are cut.
std::size_t LengthThatFits(const std::vector<v1::WorkerLog>& logs, std::size_t bytes_max) {
  std::vector<std::size_t> lengths;
  for (const v1::WorkerLog& log : logs) lengths.push_back(log.output_tail().size());
  std::sort(lengths.begin(), lengths.end());
  std::size_t bytes_left = bytes_max;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::size_t share = bytes_left / (lengths.size() - i);
    if (lengths[i] > share) return share;
    bytes_left -= lengths[i];
  }
  return bytes_max;
}

}  // namespace

std::vector<v1::WorkerLog> FittedLogs(std::vector<v1::WorkerLog> logs, std::size_t bytes_max) {
  const std::size_t length = LengthThatFits(logs, bytes_max);
  for (v1::WorkerLog& log : logs) {
    std::string& words = *log.mutable_output_tail();
    if (words.size() > length) words.erase(0, words.size() - length);
  }
  return logs;
}

}  // namespace weir::master
