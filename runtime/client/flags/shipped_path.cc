#include "runtime/client/flags/shipped_path.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace weir::client {

absl::StatusOr<ShippedPath> ReadShippedPath(std::string_view word, bool unpack) {
  const std::size_t hash = word.rfind('#');
  ShippedPath shipped = {.path = std::string(word.substr(0, hash)), .name = {}, .unpack = unpack};
  while (shipped.path.size() > 1 && shipped.path.ends_with('/')) shipped.path.pop_back();
  shipped.name = hash == std::string_view::npos ? shipped.path.substr(shipped.path.rfind('/') + 1)
                                                : std::string(word.substr(hash + 1));
  const bool named = !shipped.name.empty() && shipped.name != "." && shipped.name != ".." &&
                     shipped.name.find_first_of("/\n\r") == std::string::npos;
  if (!shipped.path.empty() && named) return shipped;
  return absl::InvalidArgumentError(
      absl::StrCat("'", std::string(word), "' is not PATH or PATH#NAME, with a name without '/'"));
}

}  // namespace weir::client
