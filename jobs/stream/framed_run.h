#pragma once

// One program that speaks frames, from start to end: what it wrote as frames, what went wrong in it
// as a named error with the place of the batch. Upstream: framed_program.h. Downstream: a script.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/api/text_block.h"
#include "jobs/stream/framed_spec.h"
#include "jobs/stream/frames/frame.h"
#include "jobs/stream/script_run.h"

namespace weir::stream {

/// Thread-safety: one thread at a time.
/// Errors: StepError USER_ERROR or TASK_HUNG, with the place that the program names and its last
///   words on stderr; kCancelled; those of `take`.
/// Bounds: one frame that comes.
/// Checked by: tests/integration/python_test.py.
class FramedRun {
 public:
  enum class Role : char { kMapper = 'm', kReducer = 'r' };

  /// `take` gets frames of pairs and results. All references outlive this.
  FramedRun(Role role, const FramedSpec& spec, StepContext& context,
            const std::function<bool()>& is_stopped, FrameReader::TakeFrame take);

  absl::Status Start(std::vector<std::string> environment, std::string directory, std::string path);
  absl::Status WriteText(const TextBlock& block);
  /// Writes a whole frame of groups.
  absl::Status WriteGroups(std::string_view frame, std::string_view last_key);
  /// Says that nothing more comes, and waits for its end.
  absl::Status Finish();

 private:
  struct Raised {
    std::string file;
    std::int64_t offset = 0;
    std::string sentence;
  };

  const char* name() const { return role_ == Role::kMapper ? "mapper" : "reducer"; }
  absl::Status OnFrame(FrameType type, std::string_view content);
  absl::Status Write(std::string_view bytes);
  // What the program itself says of an error goes before what is seen of it from here.
  absl::Status Named(const absl::Status& status) const;
  absl::Status Wrong(const std::string& what) const;

  const Role role_;
  const FrameReader::TakeFrame take_;
  FrameReader frames_;
  std::optional<Raised> raised_;
  bool done_ = false;
  std::string head_;
  std::string last_key_;
  ScriptRun run_;
};

}  // namespace weir::stream
