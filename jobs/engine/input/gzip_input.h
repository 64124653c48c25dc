#pragma once

// Reads the text of a gzip file. Upstream: PackedInput. Downstream: input_text.h.

#include <zlib.h>

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/engine/input/packed_input.h"

namespace weir {

/// Members of a gzip file; zeros behind the last are padding.
/// Checked by: tests/unit/jobs/packed_input_test.cc.
class GzipInput : public PackedInput {
 public:
  GzipInput() = default;
  ~GzipInput() override;

 protected:
  absl::Status Start() override;
  absl::Status BeginMember() override;
  absl::StatusOr<Decoded> Decode(std::string_view packed, char* into, std::int64_t bytes) override;
  std::size_t PaddingOf(std::string_view packed) const override;
  const char* format() const override { return "gzip"; }

 private:
  z_stream stream_{};
  bool ready_ = false;  // stream_ is to be ended
};

}  // namespace weir
