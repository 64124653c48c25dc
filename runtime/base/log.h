#pragma once

// One small header in front of spdlog: a fixed sentence, then key=value fields.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir {

/// One field of a log line.
struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  template <typename T>
  LogField(std::string_view k, const T& v) : key(k), value(absl::StrCat(v)) {}
  std::string_view key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

/// State changes a person would ask about.
void LogInfo(std::string_view sentence, LogFields fields = {});
/// Handled, but unexpected.
void LogWarning(std::string_view sentence, LogFields fields = {});
/// A broken promise of ours.
void LogError(std::string_view sentence, LogFields fields = {});

/// What SetUpLogging chooses: text for a terminal, one JSON object a line otherwise.
enum class LogFormat { kText, kJson };
enum class LogLevel { kInfo, kWarning, kError, kOff };

/// Returns the text after time and level: `sentence key=value ...`, or for JSON the quoted sentence
/// and the members that follow it.
std::string FormatLogLine(LogFormat format, std::string_view sentence, LogFields fields);

/// Sends log lines to stderr. Call once, from main. Thread-safe afterwards.
void SetUpLogging(LogFormat format, LogLevel level);

}  // namespace weir
