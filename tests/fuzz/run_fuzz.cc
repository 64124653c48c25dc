// Any bytes as a run file: the reader gives verified blocks or kDataLoss, never anything else.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "runtime/base/fd.h"
#include "runtime/base/limits.h"
#include "runtime/format/run_reader.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

// The first byte chooses where the section begins, the rest is the file.
void ReadAsRun(const std::string& file, std::int64_t offset) {
  const weir::Fd memory(::memfd_create("run", MFD_CLOEXEC));
  if (::write(memory.get(), file.data(), file.size()) != static_cast<ssize_t>(file.size())) return;
  const auto section_bytes = static_cast<std::int64_t>(file.size()) - offset;
  const auto reader = weir::format::RunReader::Open("/proc/self/fd/" + std::to_string(memory.get()),
                                                    offset, section_bytes);
  if (!reader.ok()) __builtin_trap();
  while (true) {
    const auto block = (*reader)->NextBlock();
    if (!block.ok()) {
      if (block.status().code() != absl::StatusCode::kDataLoss) __builtin_trap();
      return;
    }
    if (block->empty()) break;
    if (block->size() > static_cast<std::size_t>(weir::limits::kBlockBytesMax)) __builtin_trap();
  }
  if ((*reader)->bytes_read() != section_bytes) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const std::string file(data + 1, data + bytes);
  ReadAsRun(file, std::min<std::int64_t>(data[0], static_cast<std::int64_t>(file.size())));
  return 0;
}
