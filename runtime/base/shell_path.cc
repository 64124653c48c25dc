#include "runtime/base/shell_path.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace weir {

std::string ShellPath(std::string_view path) {
  const std::string named = absl::StrCat(path.starts_with('-') ? "./" : "", std::string(path));
  const bool plain = std::all_of(named.begin(), named.end(), [](char c) {
    constexpr std::string_view kPlain = "/._-+,:@%=";
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (plain && !named.empty()) return named;
  // Within single quotes nothing but their end has a meaning.
  return absl::StrCat("'", absl::StrReplaceAll(named, {{"'", "'\\''"}}), "'");
}

}  // namespace weir
