#include "tests/sim/trace.h"

#include <cstdio>

namespace weir::sim {
namespace {

constexpr std::uint64_t kFnvPrime = 0x100000001b3;

}  // namespace

void Trace::Note(MonoTime now, std::string_view event) {
  auto mix = [this](unsigned char byte) { hash_ = (hash_ ^ byte) * kFnvPrime; };
  for (int shift = 0; shift < 64; shift += 8) {
    mix(static_cast<unsigned char>(static_cast<std::uint64_t>(now.nanos()) >> shift));
  }
  for (const char c : event) mix(static_cast<unsigned char>(c));
  if (print_) {
    std::printf("%12.6f  %.*s\n", static_cast<double>(now.nanos()) * 1e-9,
                static_cast<int>(event.size()), event.data());
  }
}

}  // namespace weir::sim
