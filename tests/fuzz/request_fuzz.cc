// Any bytes as a request of any method: its check answers, and says something when it refuses.

#include <cstdint>
#include <vector>

#include "runtime/rpc/methods.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using Check = void (*)(const std::uint8_t*, std::size_t);

template <typename Method>
void CheckOne(const std::uint8_t* data, std::size_t bytes) {
  typename Method::Request request;
  if (!request.ParseFromArray(data, static_cast<int>(bytes))) return;
  const absl::Status checked = Method::Check(request);
  if (!checked.ok() && checked.message().empty()) __builtin_trap();
}

template <typename Method>
void AddCheck(std::vector<Check>& checks) {
  if constexpr (!Method::kStreams) checks.push_back(CheckOne<Method>);
}

template <typename... Methods>
void AddChecks(weir::rpc::MethodList<Methods...>, std::vector<Check>& checks) {
  (AddCheck<Methods>(checks), ...);
}

// Of every method that takes one request, in the order of methods.h: a new one is not left out.
// Kept inputs name theirs by its place, so that those behind a new one have to be moved.
std::vector<Check> AllChecks() {
  std::vector<Check> checks;
  AddChecks(weir::rpc::JobService::Methods(), checks);
  AddChecks(weir::rpc::ClusterService::Methods(), checks);
  AddChecks(weir::rpc::WorkerService::Methods(), checks);
  return checks;
}

}  // namespace

// The first byte chooses the method.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  static const std::vector<Check> checks = AllChecks();
  checks[data[0] % checks.size()](data + 1, bytes - 1);
  return 0;
}
