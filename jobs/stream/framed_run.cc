#include "jobs/stream/framed_run.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"

namespace weir::stream {

FramedRun::FramedRun(Role role, const FramedSpec& spec, StepContext& context,
                     const std::function<bool()>& is_stopped, FrameReader::TakeFrame take)
    : role_(role),
      take_(std::move(take)),
      run_(
          name(), role == Role::kMapper ? spec.mapper : spec.reducer, spec.scripts, context,
          is_stopped,
          [this](std::string_view bytes) {
            absl::Status added =
                frames_.Add(bytes, [this](FrameType type, std::string_view content) {
                  return OnFrame(type, content);
                });
            return absl::IsInvalidArgument(added) ? Wrong(std::string(added.message())) : added;
          },
          OutputForm::kBytes) {}

absl::Status FramedRun::Start(std::vector<std::string> environment, std::string directory,
                              std::string path) {
  if (absl::Status started =
          run_.Start(std::move(environment), std::move(directory), std::move(path));
      !started.ok()) {
    return started;
  }
  std::string hello;
  AppendFrameHead(FrameType::kHello, sizeof kFrameProtocol + 1, hello);
  AppendU32(kFrameProtocol, hello);
  hello.push_back(static_cast<char>(role_));
  return Write(hello);
}

absl::Status FramedRun::WriteText(const TextBlock& block) {
  const std::string& path = *block.path;
  head_.clear();
  AppendFrameHead(FrameType::kText,
                  sizeof(std::uint64_t) + sizeof(std::uint32_t) + path.size() +
                      static_cast<std::size_t>(block.bytes),
                  head_);
  AppendU64(static_cast<std::uint64_t>(block.file_offset), head_);
  AppendU32(static_cast<std::uint32_t>(path.size()), head_);
  head_.append(path);
  if (absl::Status written = Write(head_); !written.ok()) return written;
  return Named(run_.Write(block.text(), block));
}

absl::Status FramedRun::WriteGroups(std::string_view frame, std::string_view last_key) {
  last_key_.assign(last_key.substr(0, 200));
  return Write(frame);
}

absl::Status FramedRun::Finish() {
  std::string end;
  AppendFrameHead(FrameType::kEnd, 0, end);
  if (absl::Status written = Write(end); !written.ok()) return written;
  if (absl::Status ended = Named(run_.Finish()); !ended.ok()) return ended;
  if (done_ && frames_.at_frame_end()) return absl::OkStatus();
  return Wrong("ended before it was done");
}

absl::Status FramedRun::Write(std::string_view bytes) {
  return Named(run_.Write(bytes, last_key_));
}

absl::Status FramedRun::OnFrame(FrameType type, std::string_view content) {
  switch (type) {
    case FrameType::kPairs:
    case FrameType::kResult:
      return take_(type, content);
    case FrameType::kError: {
      Raised raised;
      std::uint64_t offset = 0;
      std::uint32_t path_bytes = 0;
      std::string_view path;
      if (!TakeU64(content, offset) || !TakeU32(content, path_bytes) ||
          !TakeBytes(content, path_bytes, path)) {
        return absl::InvalidArgumentError("it wrote an error that does not decode");
      }
      raised.file = std::string(path);
      raised.offset = static_cast<std::int64_t>(offset);
      raised.sentence = std::string(content);
      raised_ = std::move(raised);
      return absl::OkStatus();
    }
    case FrameType::kDone:
      done_ = true;
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("it wrote a frame that only a task writes");
  }
}

absl::Status FramedRun::Named(const absl::Status& status) const {
  std::optional<StepError> error = StepErrorOf(status);
  if (!error) return status;
  if (error->code == step_error::kTaskHung) {
    error->advice = "see what it waits for; a longer silence_s gives it longer";
  } else if (raised_) {
    error->message = raised_->sentence;
    error->file = raised_->file;
    error->byte_offset = raised_->offset;
    error->advice = "the traceback is in its last lines on stderr";
  } else {
    error->advice = "see its last lines on stderr; 'weir logs' has more of a cluster's job";
  }
  return StepErrorStatus(status.code(), *error);
}

absl::Status FramedRun::Wrong(const std::string& what) const {
  StepError error;
  error.code = std::string(step_error::kUserError);
  error.message = absl::StrCat("the program of the ", name(), " is wrong: ", what);
  error.advice = "only frames may be on its stdout, the last of them one that says that it is done";
  return Named(StepErrorStatus(absl::StatusCode::kFailedPrecondition, error));
}

}  // namespace weir::stream
