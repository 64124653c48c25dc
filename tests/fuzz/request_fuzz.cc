// Any bytes as a request of any method: its check answers, and says something when it refuses.

#include <cstdint>
#include <iterator>

#include "runtime/rpc/methods.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

template <typename Method>
void CheckOne(const std::uint8_t* data, std::size_t bytes) {
  typename Method::Request request;
  if (!request.ParseFromArray(data, static_cast<int>(bytes))) return;
  const absl::Status checked = Method::Check(request);
  if (!checked.ok() && checked.message().empty()) __builtin_trap();
}

}  // namespace

// The first byte chooses the method.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  using Check = void (*)(const std::uint8_t*, std::size_t);
  using namespace weir::rpc;  // NOLINT: the rows of its table
  constexpr Check kChecks[] = {
      CheckOne<Submit>,    CheckOne<DryRun>,     CheckOne<Calibrate>,     CheckOne<Register>,
      CheckOne<Heartbeat>, CheckOne<ReportStep>, CheckOne<PrepareJob>,    CheckOne<ReportTransfer>,
      CheckOne<StartStep>, CheckOne<ReleaseJob>, CheckOne<GrantTransfer>, CheckOne<CancelTransfer>,
      CheckOne<Probe>,     CheckOne<SetRates>};
  kChecks[data[0] % std::size(kChecks)](data + 1, bytes - 1);
  return 0;
}
