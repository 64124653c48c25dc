#include "runtime/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace weir {
namespace {

// Replaced once by SetUpLogging, before other threads exist.
struct Output {
  LogFormat format = LogFormat::kText;
  std::shared_ptr<spdlog::logger> logger;
};

void UsePattern(Output& output) {
  // The pattern holds what spdlog knows (time, level); %v is what FormatLogLine made.
  const char* pattern = output.format == LogFormat::kJson
                            ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","msg":%v})"
                            : "%Y-%m-%dT%H:%M:%S.%eZ %L %v";
  output.logger->set_pattern(pattern, spdlog::pattern_time_type::utc);
}

Output& TheOutput() {
  static Output& output = *[] {
    auto* made = new Output;
    made->logger =
        std::make_shared<spdlog::logger>("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->logger->flush_on(spdlog::level::info);
    UsePattern(*made);
    return made;
  }();
  return output;
}

void AppendQuoted(std::string_view text, std::string& line) {
  line += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        line += "\\\"";
        break;
      case '\\':
        line += "\\\\";
        break;
      case '\n':
        line += "\\n";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          constexpr char kDigits[] = "0123456789abcdef";
          line += "\\u00";
          line += kDigits[(c >> 4) & 0xf];
          line += kDigits[c & 0xf];
        } else {
          line += c;
        }
    }
  }
  line += '"';
}

bool NeedsQuotes(std::string_view value) {
  return value.empty() || value.find_first_of(" \t\n\r\"=\\") != std::string_view::npos;
}

}  // namespace

std::string FormatLogLine(LogFormat format, std::string_view sentence, LogFields fields) {
  std::string line;
  if (format == LogFormat::kJson) {
    AppendQuoted(sentence, line);
    for (const LogField& field : fields) {
      line += ',';
      AppendQuoted(field.key, line);
      line += ':';
      AppendQuoted(field.value, line);
    }
    return line;
  }
  line = sentence;
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (NeedsQuotes(field.value)) {
      AppendQuoted(field.value, line);
    } else {
      line += field.value;
    }
  }
  return line;
}

namespace {

void Write(spdlog::level::level_enum level, std::string_view sentence, LogFields fields) {
  Output& output = TheOutput();
  if (!output.logger->should_log(level)) return;
  const std::string line = FormatLogLine(output.format, sentence, fields);
  output.logger->log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void LogInfo(std::string_view sentence, LogFields fields) {
  Write(spdlog::level::info, sentence, fields);
}
void LogWarning(std::string_view sentence, LogFields fields) {
  Write(spdlog::level::warn, sentence, fields);
}
void LogError(std::string_view sentence, LogFields fields) {
  Write(spdlog::level::err, sentence, fields);
}

void SetUpLogging(LogFormat format, LogLevel level) {
  Output& output = TheOutput();
  output.format = format;
  UsePattern(output);
  switch (level) {
    case LogLevel::kInfo:
      output.logger->set_level(spdlog::level::info);
      break;
    case LogLevel::kWarning:
      output.logger->set_level(spdlog::level::warn);
      break;
    case LogLevel::kError:
      output.logger->set_level(spdlog::level::err);
      break;
    case LogLevel::kOff:
      output.logger->set_level(spdlog::level::off);
      break;
  }
}

}  // namespace weir
