// Any bytes as an input file, plain or packed, cut anywhere: whole records come out once, or an
// error that names the file.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/input/open_blocks.h"
#include "runtime/base/fd.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

struct Read {
  std::string text;
  bool failed = false;
};

template <typename Source>
Read ReadAll(Source source) {
  Read read;
  weir::TextBlock block;
  while (true) {
    const auto more = source.Next(block);
    if (!more.ok()) {
      if (!weir::StepErrorOf(more.status()) && !weir::BadRecordOf(more.status())) __builtin_trap();
      read.failed = true;
      return read;
    }
    if (!*more) return read;
    read.text.append(block.data, static_cast<std::size_t>(block.bytes));
  }
}

// A link with an ending of its own: by its name a file is unpacked.
class Named {
 public:
  Named(int fd, const char* ending)
      : path_(absl::StrCat("/tmp/weir-input-fuzz-", ::getpid(), ending)) {
    ::unlink(path_.c_str());
    const std::string target = absl::StrCat("/proc/self/fd/", fd);
    if (::symlink(target.c_str(), path_.c_str()) != 0) __builtin_trap();
  }
  ~Named() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

// The first byte says where the file is cut, the second of what kind it is; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes < 2) return 0;
  const std::string file(data + 2, data + bytes);
  const weir::Fd memory(::memfd_create("input", MFD_CLOEXEC));
  if (::write(memory.get(), file.data(), file.size()) != static_cast<ssize_t>(file.size()))
    return 0;
  const bool packed = (data[1] & 1) != 0;
  const Named named(memory.get(), !packed ? ".txt" : (data[1] & 4) != 0 ? ".zst" : ".gz");
  const auto size = static_cast<std::int64_t>(file.size());
  const std::int64_t cut = packed ? size : size * data[0] / 255;
  if ((data[1] & 2) != 0) {
    ReadAll(weir::OpenBlocks(weir::FixedSize{1 + data[0] % 16}, {named.path(), 0, size, size}));
    return 0;
  }
  const weir::DelimitedBy lines{"\n"};
  const Read whole = ReadAll(weir::OpenBlocks(lines, {named.path(), 0, size, size}));
  Read pieces = ReadAll(weir::OpenBlocks(lines, {named.path(), 0, cut, size}));
  const Read rest = ReadAll(weir::OpenBlocks(lines, {named.path(), cut, size, size}));
  pieces.text += rest.text;
  if (!whole.failed && !pieces.failed && !rest.failed && whole.text != pieces.text)
    __builtin_trap();
  return 0;
}
