#pragma once

// Packs and unpacks blocks of runs. Upstream: run_writer.h packs. Downstream: run_reader.h unpacks.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "weir/v1/plan.pb.h"

namespace weir::format {

/// True for a codec that this program can unpack, CODEC_NONE among them.
bool IsKnownCodec(std::uint32_t codec);

/// Packs blocks with one codec, each by itself, so that any byte range of whole blocks can be read
/// alone. lz4 runs at its fastest setting and zstd at level 1: both are meant to be faster than a
/// link of 1 Gbit/s (ADR 0009).
///
/// Thread-safety: one thread at a time. Same bytes in, same bytes out.
/// Bounds: one buffer of the largest block, packed.
/// Checked by: tests/unit/format/codec_test.cc.
class BlockPacker {
 public:
  /// Requires: a known codec.
  explicit BlockPacker(v1::Codec codec);
  ~BlockPacker();
  BlockPacker(BlockPacker&&) noexcept;

  v1::Codec codec() const { return codec_; }
  /// Returns the packed bytes, valid until the next call, or nothing where packing does not save
  /// kLeastSaving: what hardly shrinks is not worth its unpacking. Requires: 1 .. kBlockBytesMax
  /// bytes.
  std::string_view Pack(std::string_view block);

 private:
  struct State;  // the library's own working memory

  v1::Codec codec_;
  std::unique_ptr<State> state_;
  std::vector<char> packed_;
};

/// Part of a block that packing must save.
inline constexpr double kLeastSaving = 0.05;

/// Unpacks a block to the `raw_bytes` at `raw`. Believes nothing of `packed`.
/// Requires: a known codec, not CODEC_NONE. Errors: kDataLoss saying that it does not unpack to
/// exactly that many bytes. Thread-safety: any thread.
absl::Status UnpackBlock(v1::Codec codec, std::string_view packed, char* raw,
                         std::int64_t raw_bytes);

}  // namespace weir::format
