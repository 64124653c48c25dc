#include "runtime/env/real/machine_id.h"

#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"

namespace weir::env {
namespace {

// The first half of a random UUID tells machines apart well enough.
std::uint64_t ReadBootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::uint64_t id = 0;
  if (!std::getline(file, text)) return 0;
  text = absl::StrReplaceAll(text, {{"-", ""}}).substr(0, 16);
  return absl::SimpleHexAtoi(text, &id) ? id : 0;
}

}  // namespace

std::uint64_t MachineId() {
  static const std::uint64_t id = ReadBootId();
  return id;
}

}  // namespace weir::env
