#pragma once

// A script as a process: started, fed and listened to by one thread. Upstream: script_run.h.
// Downstream: the kernel.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::stream {

/// How to start a script.
struct ScriptSetup {
  std::vector<std::string> words;        // a program and its arguments; not empty
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::string directory;                 // where it runs
  std::string path;                      // PATH, where the program is looked for behind `directory`
  /// So long it may neither read nor write; 0 = for ever.
  std::int64_t silence_ms = 0;
};

/// How it ended.
struct ScriptEnd {
  int exit_code = 0;
  int signal = 0;  // 0 unless one ended it
  /// Its first line, where that ends with a carriage return and whoever it names, as env, found no
  /// such program; else empty. The kernel finds `env`, so that the start does not tell.
  std::string windows_line;
  /// "exited with code 3", "was ended by signal SIGKILL (Killed)".
  std::string Describe() const;
};

/// Who hears a script, on the thread that feeds it.
class ScriptListener {
 public:
  virtual ~ScriptListener() = default;
  /// Bytes of stdout, cut anywhere. An error ends the script and is handed on.
  virtual absl::Status OnOutput(std::string_view bytes) = 0;
  /// Bytes of stderr, cut anywhere; an error likewise.
  virtual absl::Status OnErrorOutput(std::string_view bytes) = 0;
  /// Asked a few times a second; true ends the script with kCancelled.
  virtual bool stop() = 0;
  /// Called a few times a second while the script is waited for.
  virtual void StillWaiting() = 0;
};

/// One running script, in the process group of its starter, so that whoever ends the group ends it
/// and what it started.
///
/// Write and Finish look at stdin, stdout and stderr at once, so it does not matter what the script
/// reads or writes when, nor how much.
/// Thread-safety: one thread at a time.
/// Errors of Write and Finish: those of the listener; kCancelled; kDeadlineExceeded for a script
///   that was silent for too long. After an error it only can be destroyed.
/// Bounds: the pipes of the kernel and one buffer of kReadBytes.
/// Ownership: a script that still runs when this is destroyed is killed and awaited.
/// Checked by: tests/unit/jobs/stream/script_test.cc.
class Script {
 public:
  static constexpr std::size_t kReadBytes = 256 << 10;

  /// Requires: SIGPIPE is ignored; the listener outlives this. Errors: kNotFound, kPermissionDenied
  /// naming the program and where it was looked for; kFailedPrecondition where the file is there
  /// and its first line names nothing that can read it; kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<Script>> Start(const ScriptSetup& setup,
                                                       ScriptListener& listener);
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  /// Hands all of `bytes` to its stdin, or less where it ends or closes it.
  absl::Status Write(std::string_view bytes);
  /// No more can be written: it has ended or closed its stdin.
  bool closed() const { return in_ < 0; }
  /// Bytes that its stdin has taken so far.
  std::int64_t written() const { return written_; }
  /// Closes its stdin and waits until it has ended and all it wrote is heard.
  absl::StatusOr<ScriptEnd> Finish();

 private:
  explicit Script(ScriptListener& listener, std::int64_t silence_ms);

  void WaitForMore();
  absl::Status Turn(std::string_view& left);
  absl::Status Read(int& fd, bool is_error);
  void WriteSome(std::string_view& left);
  absl::Status CountSilence();
  void CloseInput();

  ScriptListener& listener_;
  const std::int64_t silence_ms_;
  std::string program_;
  std::int64_t silent_ms_ = 0;
  pid_t pid_ = -1;  // -1 once collected
  int pidfd_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool exited_ = false;
  std::int64_t written_ = 0;
  std::size_t moved_ = kReadBytes;  // bytes, both ways, since the last look
  std::vector<char> buffer_;
};

/// The file that a program's name means: one with '/' in it as it is, any other in `directory`,
/// then in the directories of `path`. Errors: as Script::Start.
absl::StatusOr<std::string> FindProgram(const std::string& name, const std::string& directory,
                                        const std::string& path);

/// The environment of this process as names and values.
std::vector<std::pair<std::string, std::string>> OwnEnvironment();

/// The directory in which this process runs; "." where it cannot be told.
std::string OwnDirectory();

/// Writes what a script said to people where this process says it: to stderr.
void SayOnStderr(std::string_view text);

}  // namespace weir::stream
