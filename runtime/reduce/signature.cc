#include "runtime/reduce/signature.h"

#include <xxhash.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/reduce/operations.h"

namespace weir::reduce {

std::uint32_t OperationNumber(const Operation& operation) {
  struct {
    double seconds;
    std::uint64_t flags;
  } traits = {operation.traits().seconds_per_element,
              (operation.traits().commutative ? 1U : 0U) | (operation.built_in() ? 2U : 0U)};
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(
      operation.name().data(), operation.name().size(), XXH3_64bits(&traits, sizeof traits)));
}

std::string Describe(const Signature& signature) {
  const std::string what = absl::StrCat(" of ", signature.count, " ", TypeName(signature.type));
  if (signature.kind == CallKind::kBroadcast)
    return absl::StrCat("Broadcast", what, " from rank ", signature.root);
  std::string operation = absl::StrCat("operation ", absl::Hex(signature.operation));
  for (const Operation& known : BuiltInOperations()) {
    if (OperationNumber(known) == signature.operation) operation = known.name();
  }
  if (signature.kind == CallKind::kAllReduce)
    return absl::StrCat("AllReduce", what, " by ", operation);
  return absl::StrCat("Reduce", what, " by ", operation, " to rank ", signature.root);
}

}  // namespace weir::reduce
