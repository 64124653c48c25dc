#include "jobs/records/number.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace weir {

bool ParseNumber(std::string_view text, double& number) {
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text[0] == '-') return false;
  }
  const char* const end = text.data() + text.size();
  const std::from_chars_result parsed = std::from_chars(text.data(), end, number);
  if (parsed.ptr != end) return false;
  if (parsed.ec == std::errc::result_out_of_range) {
    // Too large and too small look alike here; this slower function tells them apart.
    if (!absl::SimpleAtod(absl::string_view(text.data(), text.size()), &number)) return false;
  } else if (parsed.ec != std::errc()) {
    return false;
  }
  if (!std::isfinite(number)) return false;
  if (std::fpclassify(number) == FP_SUBNORMAL || number == 0) number = 0;
  return true;
}

}  // namespace weir
