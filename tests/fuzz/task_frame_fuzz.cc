// Any bytes on the socketpair between daemon and task, in any pieces, read from both ends.

#include <algorithm>
#include <string>

#include "runtime/base/task_frame.h"
#include "runtime/task/step_runner.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/v1/steps.pb.h"

namespace {

template <typename Message, typename Use>
void ReadStream(const std::string& stream, std::size_t piece_bytes, Use use) {
  weir::TaskFrameReader reader;
  for (std::size_t at = 0; at < stream.size(); at += piece_bytes) {
    reader.Append(std::string_view(stream).substr(at, piece_bytes));
    while (true) {
      Message message;
      const absl::StatusOr<bool> whole = reader.Next(message);
      if (!whole.ok()) return;
      if (!*whole) break;
      use(message);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const std::string stream(data + 1, data + bytes);
  const std::size_t piece_bytes = std::max<std::size_t>(1, data[0]);
  ReadStream<weir::v1::TaskCommand>(stream, piece_bytes, [](const weir::v1::TaskCommand& command) {
    [[maybe_unused]] const absl::Status status =
        weir::task::CheckRun(command.run(), weir::task::BuiltInSteps());
  });
  ReadStream<weir::v1::TaskEvent>(stream, piece_bytes, [](const weir::v1::TaskEvent& event) {
    std::string frame;
    if (!weir::AppendTaskFrame(event, frame).ok()) __builtin_trap();
  });
  return 0;
}
