#pragma once

// The last bytes that a task process wrote to stdout and stderr.

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::worker {

/// Keeps the end of a byte stream, however long it is.
/// Bounds: at most twice `bytes_max` in memory.
class OutputTail {
 public:
  explicit OutputTail(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void Append(std::string_view bytes) {
    if (bytes.size() > bytes_max_) bytes.remove_prefix(bytes.size() - bytes_max_);
    kept_.append(bytes);
    // Rarely, so that each byte is moved at most once on average.
    if (kept_.size() >= 2 * bytes_max_) kept_.erase(0, kept_.size() - bytes_max_);
  }

  /// Returns the last bytes, at most `bytes_max` of them.
  std::string Last(std::size_t bytes_max) const {
    const std::size_t wanted = bytes_max < bytes_max_ ? bytes_max : bytes_max_;
    if (kept_.size() <= wanted) return kept_;
    return kept_.substr(kept_.size() - wanted);
  }

 private:
  const std::size_t bytes_max_;
  std::string kept_;
};

}  // namespace weir::worker
