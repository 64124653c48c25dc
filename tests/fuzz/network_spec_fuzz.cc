// Any bytes as a network file (weir master --network): what is read can be written, and is then
// read as the same.

#include <string>
#include <string_view>

#include "runtime/master/options/network_spec.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const auto spec = weir::master::ParseNetworkSpec(text);
  if (!spec.ok()) return 0;
  const std::string written = weir::master::NetworkSpecJson(*spec);
  const auto again = weir::master::ParseNetworkSpec(written);
  if (!again.ok() || weir::master::NetworkSpecJson(*again) != written) __builtin_trap();
  return 0;
}
