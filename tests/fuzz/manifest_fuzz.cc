// Any bytes as the manifest of an output: it is refused, or its parts are names inside the
// directory. Which of the kept inputs are accepted: tests/unit/master/manifest_test.cc.

#include <string>
#include <string_view>

#include "runtime/master/output/manifest.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/sim/memory_storage.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  weir::sim::MemoryStorage storage;
  if (!storage.MakeDirectory("/out").ok()) __builtin_trap();
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  if (!storage.WriteFileAtomically("/out/manifest.json", text).ok()) __builtin_trap();
  const auto manifest = weir::master::ReadManifest(storage, "/out");
  if (!manifest.ok()) return 0;
  for (const weir::v1::OutputPart& part : manifest->parts) {
    if (part.bytes() < 0 || part.records() < 0) __builtin_trap();
    const std::string& file = part.file();
    if (file.empty() || file == "." || file == "..") __builtin_trap();
    if (file.find('/') != std::string::npos) __builtin_trap();
  }
  return 0;
}
