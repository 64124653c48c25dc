#include "jobs/engine/input/zstd_input.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"

namespace weir {
namespace {

// The decoder itself, and a block before and behind its window.
constexpr std::int64_t kContextBytes = (160 << 10) + 2 * (128 << 10);
// What zstd can be told to accept; our own limit is the one that counts.
constexpr int kWindowLogMax = 31;

}  // namespace

ZstdInput::~ZstdInput() { ::ZSTD_freeDCtx(decoder_); }

absl::Status ZstdInput::Start() {
  decoder_ = ::ZSTD_createDCtx();
  if (decoder_ == nullptr) return NoMemory();
  ::ZSTD_DCtx_setParameter(decoder_, ZSTD_d_windowLogMax, kWindowLogMax);
  decoder_bytes_ = kContextBytes;
  return absl::OkStatus();
}

absl::Status ZstdInput::BeginMember() {
  const absl::StatusOr<std::string> header = Peek(kZstdHeaderBytesMax);
  if (!header.ok()) return header.status();
  const std::optional<ZstdFrame> frame = ParseZstdFrame(*header);
  if (!frame || frame->skippable) return absl::OkStatus();  // the decoder says what is wrong
  window_bytes_ = std::min(frame->window_bytes, frame->text_bytes.value_or(frame->window_bytes));
  if (kContextBytes + window_bytes_ > decoder_bytes_max_) return WindowTooLarge(window_bytes_);
  // It keeps the largest buffer that it needed.
  decoder_bytes_ = std::max(decoder_bytes_, kContextBytes + window_bytes_);
  return absl::OkStatus();
}

absl::StatusOr<PackedInput::Decoded> ZstdInput::Decode(std::string_view packed, char* into,
                                                       std::int64_t bytes) {
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer out{into, static_cast<std::size_t>(bytes), 0};
  const std::size_t result = ::ZSTD_decompressStream(decoder_, &out, &in);
  if (::ZSTD_isError(result) == 0) {
    return Decoded{static_cast<std::int64_t>(in.pos), static_cast<std::int64_t>(out.pos),
                   result == 0};
  }
  switch (::ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
      return NoMemory();
    case ZSTD_error_frameParameter_windowTooLarge:
      return WindowTooLarge(window_bytes_);
    case ZSTD_error_dictionary_wrong:
      return NeedsDictionary();
    default:
      return Damaged(::ZSTD_getErrorName(result));
  }
}

absl::Status ZstdInput::WindowTooLarge(std::int64_t bytes) const {
  return StepErrorStatus(
      absl::StatusCode::kResourceExhausted,
      {std::string(step_error::kOutOfMemory),
       absl::StrCat("zstd file ", path(), " needs ", bytes, " bytes to be decompressed from byte ",
                    file_position(), " on, and a slot may use ", decoder_bytes_max_,
                    " for that: half of its share of the memory of the step"),
       absl::StrCat("run the job with more --memory or fewer --slots, or pack the file with a "
                    "smaller window: zstd -dc --long=31 ",
                    path(), " | zstd > NAME.zst"),
       path(), file_position()});
}

absl::Status ZstdInput::NeedsDictionary() const {
  return StepErrorStatus(
      absl::StatusCode::kFailedPrecondition,
      {std::string(step_error::kInputUnreadable),
       absl::StrCat("zstd file ", path(),
                    " was packed with a dictionary, which weir does not have"),
       absl::StrCat("pack it without: zstd -dc -D DICTIONARY ", path(), " | zstd > NAME.zst"),
       path(), file_position()});
}

}  // namespace weir
