#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace weir::rpc {

/// How a method is called on the wire: "/weir.v1.JobService/Submit". gRPC keeps the pointer.
template <typename Method>
const char* PathOf() {
  static const std::string* const kPath =
      new std::string(absl::StrCat("/", Method::Service::kName, "/", Method::kName));
  return kPath->c_str();
}

}  // namespace weir::rpc
