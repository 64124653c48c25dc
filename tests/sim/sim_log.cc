// Takes the place of runtime/base/log.cc in simulations: an ERROR is a broken promise and fails the
// run, so it must be counted, and nothing is printed unless asked for.

#include "tests/sim/sim_log.h"

#include <cstdio>

#include "runtime/base/log.h"

namespace weir {
namespace {

struct SimLog {
  bool print = false;
  std::int64_t errors = 0;
};

SimLog& TheLog() {
  static SimLog log;
  return log;
}

void Write(const char* level, std::string_view sentence, LogFields fields) {
  if (!TheLog().print) return;
  std::printf("              %s %.*s", level, static_cast<int>(sentence.size()), sentence.data());
  for (const LogField& field : fields) {
    std::printf(" %.*s=%s", static_cast<int>(field.key.size()), field.key.data(),
                field.value.c_str());
  }
  std::printf("\n");
}

}  // namespace

void LogInfo(std::string_view sentence, LogFields fields) { Write("I", sentence, fields); }
void LogWarning(std::string_view sentence, LogFields fields) { Write("W", sentence, fields); }
void LogError(std::string_view sentence, LogFields fields) {
  ++TheLog().errors;
  Write("E", sentence, fields);
}
void SetUpLogging(LogFormat, LogLevel level) { TheLog().print = level == LogLevel::kInfo; }

namespace sim {

std::int64_t ErrorsLogged() { return TheLog().errors; }

}  // namespace sim
}  // namespace weir
