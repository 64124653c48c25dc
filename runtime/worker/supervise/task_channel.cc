#include "runtime/worker/supervise/task_channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace weir::worker {

TaskChannel::TaskChannel(int fd, std::unique_ptr<env::FdWatch> watch, OnEvent on_event,
                         OnEnd on_end)
    : fd_(fd),
      watch_(std::move(watch)),
      on_event_(std::move(on_event)),
      on_end_(std::move(on_end)) {
  watch_->OnceReadable([this] { ReadTurn(); });
}

absl::Status TaskChannel::Send(const v1::TaskCommand& command) {
  if (absl::Status status = unsent_.Append(command); !status.ok()) return status;
  if (!write_pending_) WriteTurn();
  return absl::OkStatus();
}

void TaskChannel::Drain() {
  // More than any socket buffer holds; a limit, since a child of the task may still hold the other
  // end and talk on.
  constexpr int kTurnsMax = 64;
  for (int turn = 0; turn < kTurnsMax && ReadOnce() == ReadOutcome::kMore; ++turn) {
  }
}

void TaskChannel::ReadTurn() {
  if (ReadOnce() != ReadOutcome::kEnd) watch_->OnceReadable([this] { ReadTurn(); });
}

TaskChannel::ReadOutcome TaskChannel::ReadOnce() {
  if (ended_) return ReadOutcome::kEnd;
  std::array<char, kReadBytes> bytes;
  const ssize_t n = recv(fd_, bytes.data(), bytes.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return ReadOutcome::kNothingNow;
  if (n <= 0) {
    End(absl::OkStatus());
    return ReadOutcome::kEnd;
  }
  reader_.Append(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
  while (true) {
    v1::TaskEvent event;
    absl::StatusOr<bool> whole = reader_.Next(event);
    if (!whole.ok()) {
      End(whole.status());
      return ReadOutcome::kEnd;
    }
    if (!*whole) return ReadOutcome::kMore;
    on_event_(std::move(event));
  }
}

void TaskChannel::WriteTurn() {
  write_pending_ = false;
  while (!unsent_.left().empty()) {
    const std::string_view left = unsent_.left();
    const ssize_t n = send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      write_pending_ = true;
      watch_->OnceWritable([this] { WriteTurn(); });
      return;
    }
    if (n < 0) {
      // The reading side learns of the same end and tells it.
      unsent_.Clear();
      return;
    }
    unsent_.Sent(static_cast<std::size_t>(n));
  }
}

void TaskChannel::End(absl::Status status) {
  ended_ = true;
  on_end_(std::move(status));
}

}  // namespace weir::worker
