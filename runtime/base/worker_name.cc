#include "runtime/base/worker_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/valid_utf8.h"

namespace weir {
namespace {

constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kShownBytes = 100;

}  // namespace

absl::Status CheckWorkerName(absl::string_view name) {
  const char* wrong = nullptr;
  if (name.empty()) {
    wrong = "is empty";
  } else if (name.size() > kNameBytesMax) {
    wrong = "is longer than 256 bytes";
  } else if (std::any_of(name.begin(), name.end(), [](char c) { return absl::ascii_iscntrl(c); })) {
    wrong = "has a line break or another control character";
  } else if (ValidUtf8({name.data(), name.size()}) != name) {
    wrong = "is not UTF-8";
  }
  if (wrong == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the name of the worker, '",
                                                 absl::CHexEscape(name.substr(0, kShownBytes)),
                                                 "', ", wrong, "; choose another: --name NAME"));
}

}  // namespace weir
