#pragma once

// One script from start to end, as the contract asks: whole lines out, counters and last words in,
// named errors. Upstream: stream_program.h. Downstream: script/script.h.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"
#include "jobs/stream/contract/stream_spec.h"
#include "jobs/stream/script/script.h"

namespace weir::stream {

/// Longest line that a script may write; one is held in memory whole.
inline constexpr std::int64_t kOutputLineBytesMax = 64 << 20;
/// Counters with different names that the scripts of one slot and step may count.
inline constexpr std::size_t kCountersMax = 1000;
/// A script need not read so much of its input, as with Hadoop, which holds that back for it.
inline constexpr std::int64_t kInputIgnoredMax = 128 << 10;
/// Last bytes of stderr that an error carries.
inline constexpr std::size_t kLastWordsBytes = 4096;

/// What stdout of a script is handed on as: whole lines, or bytes as they come.
enum class OutputForm { kLines, kBytes };

/// Thread-safety: one thread at a time.
/// Errors: StepError USER_ERROR or TASK_HUNG naming command, place in the input and last lines of
///   stderr; kCancelled; those of `take_lines`.
/// Bounds: one line of stdout, kLastWordsBytes of stderr.
/// Checked by: tests/integration/streaming_test.py.
class ScriptRun : private ScriptListener {
 public:
  /// Takes whole lines of stdout, each with its newline; with OutputForm::kBytes what has come.
  using TakeLines = std::function<absl::Status(std::string_view lines)>;

  /// `role`: "mapper". All references outlive this.
  ScriptRun(const char* role, const ScriptCommand& command, const StreamSpec& spec,
            StepContext& context, const std::function<bool()>& is_stopped, TakeLines take_lines,
            OutputForm output_form = OutputForm::kLines);
  ~ScriptRun() override;

  absl::Status Start(std::vector<std::string> environment, std::string directory, std::string path);
  /// Feeds text made of `block`; the place in the input is its own.
  absl::Status Write(std::string_view text, const TextBlock& block);
  /// Feeds lines of pairs; the place is named by the last key of them.
  absl::Status Write(std::string_view text, std::string_view last_key);
  /// Closes its input, waits for its end and says whether it was a good one.
  absl::Status Finish();

 private:
  absl::Status OnOutput(std::string_view bytes) override;
  absl::Status OnErrorOutput(std::string_view bytes) override;
  bool stop() override { return is_stopped_(); }
  void StillWaiting() override { context_.AddProgress(1); }

  absl::Status Feed(std::string_view text);
  absl::Status End();
  absl::Status TakeRest();
  absl::Status HearErrorLine(std::string_view line);
  void ReportCounters();
  absl::Status Named(const absl::Status& status) const;
  absl::Status Named(std::string_view code, const std::string& what,
                     const std::string& advice) const;

  const char* const role_;
  const ScriptCommand& command_;
  const StreamSpec& spec_;
  StepContext& context_;
  const std::function<bool()>& is_stopped_;
  const TakeLines take_lines_;
  const OutputForm output_form_;
  std::unique_ptr<Script> script_;
  std::int64_t offered_ = 0;  // bytes, whether it took them or not
  bool ended_ = false;
  std::string how_;   // it ended
  std::string file_;  // that it is fed from; empty: pairs
  std::int64_t block_offset_ = 0;
  std::int64_t block_bytes_ = 0;
  std::int64_t written_before_ = 0;  // of the block
  std::string last_key_;
  std::string begun_line_;        // of stdout, without its newline yet
  std::string begun_error_line_;  // of stderr
  std::string last_words_;
  absl::btree_map<std::string, std::int64_t> counters_;
};

}  // namespace weir::stream
