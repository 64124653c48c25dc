#pragma once

// Reads the text of a zstd file. Upstream: PackedInput. Downstream: input_text.h.

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/engine/input/packed_input.h"
#include "jobs/packed/zstd_frame.h"

// As in <zstd.h>, which who includes this needs not know.
struct ZSTD_DCtx_s;

namespace weir {

/// Frames of a zstd file, skippable ones left out. A frame's decoder holds its window, or all of
/// its text where that is less: one that would be larger than `decoder_bytes_max` is refused.
/// Errors beside those of PackedInput: INPUT_UNREADABLE for a file that needs a dictionary.
/// Checked by: tests/unit/jobs/zstd_input_test.cc.
class ZstdInput : public PackedInput {
 public:
  explicit ZstdInput(std::int64_t decoder_bytes_max = kDecoderBytesDefault)
      : decoder_bytes_max_(decoder_bytes_max) {}
  ~ZstdInput() override;

 protected:
  absl::Status Start() override;
  absl::Status BeginMember() override;
  absl::StatusOr<Decoded> Decode(std::string_view packed, char* into, std::int64_t bytes) override;
  const char* format() const override { return "zstd"; }

 private:
  absl::Status WindowTooLarge(std::int64_t bytes) const;
  absl::Status NeedsDictionary() const;

  const std::int64_t decoder_bytes_max_;
  ZSTD_DCtx_s* decoder_ = nullptr;
  std::int64_t window_bytes_ = 0;  // of the frame that is being read
};

}  // namespace weir
