#pragma once

// The name of content: SHA-256, 64 hex digits in lower case. Upstream: whoever holds bytes of an
// artifact. Downstream: OpenSSL.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace weir {

/// Hashes bytes that come piece by piece.
/// Thread-safety: one thread at a time.
/// Checked by: tests/unit/artifacts/sha256_test.cc (vectors of FIPS 180-2, any cuts).
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;

  void Update(std::string_view bytes);
  /// Returns the hash of all bytes. Call once, last.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// True for 64 hex digits in lower case: a hash as it is written here, and a harmless file name.
bool IsSha256(std::string_view text);

}  // namespace weir
