#pragma once

// Reads the text of a packed file from beginning to end. Upstream: InputRange. Downstream:
// input_text.h.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/engine/input/input_file.h"

namespace weir {

/// What a decoder of a file may hold where nobody says how much: what the program zstd allows.
inline constexpr std::int64_t kDecoderBytesDefault = 128 << 20;
/// What it may hold however little memory there is: files that zstd packed as it does unless told
/// otherwise refer back 2 MiB.
inline constexpr std::int64_t kDecoderBytesMin = 3 << 20;

/// One open file of members (gzip) or frames (zstd), whose texts one after the other are its text.
///
/// Thread-safety: one thread at a time.
/// Errors: those of InputFile; StepError DATA_LOSS with file and offset (in the file as it lies
///   there) for one that is cut short or damaged, OUT_OF_MEMORY for one whose decoder would need
///   more than it may have.
/// Bounds: one buffer of compressed bytes and the decoder's window, however much a file expands.
/// Checked by: tests/unit/jobs/packed_input_test.cc, zstd_input_test.cc.
class PackedInput {
 public:
  virtual ~PackedInput() = default;
  PackedInput(const PackedInput&) = delete;
  PackedInput& operator=(const PackedInput&) = delete;

  /// Requires: a range that begins at 0, or at a border.
  absl::Status Open(const InputRange& range);
  /// Reads the next `bytes` bytes of the text; fewer at its end only.
  absl::StatusOr<std::int64_t> Read(char* into, std::int64_t bytes);
  absl::Status CheckUnchanged() const { return file_.CheckUnchanged(); }

  /// Place in the text of the byte that is read next.
  std::int64_t text_position() const { return text_at_; }
  /// Whether all borders of the range came where they were said to be; asked once its text is read.
  absl::Status CheckBorders() const;
  /// The error of a file whose text is not as long as its headers say.
  absl::Status WrongSizes() const;

  /// Place in the file up to which it was decompressed.
  std::int64_t file_position() const { return read_ - static_cast<std::int64_t>(left_.size()); }
  /// What buffer and decoder hold.
  std::int64_t memory_bytes() const {
    return static_cast<std::int64_t>(compressed_.size()) + decoder_bytes_;
  }
  const std::string& path() const { return file_.path(); }

 protected:
  /// What one call of a decoder did.
  struct Decoded {
    std::int64_t consumed = 0;
    std::int64_t produced = 0;
    bool member_ended = false;
  };

  PackedInput() = default;

  /// Makes the decoder.
  virtual absl::Status Start() = 0;
  /// Makes it ready for the member that begins at file_position().
  virtual absl::Status BeginMember() = 0;
  /// Decodes some of `packed`, which is empty at the end of the file, into `into`.
  virtual absl::StatusOr<Decoded> Decode(std::string_view packed, char* into,
                                         std::int64_t bytes) = 0;
  /// Bytes at the beginning of `packed`, between members, that belong to none.
  virtual std::size_t PaddingOf(std::string_view) const { return 0; }
  /// "gzip", for errors; also the name of the program.
  virtual const char* format() const = 0;

  /// The bytes from file_position() on: `bytes` of them, fewer at the end of the file.
  absl::StatusOr<std::string> Peek(std::int64_t bytes);
  absl::Status Damaged(const char* how) const;
  absl::Status NoMemory() const;

  std::int64_t decoder_bytes_ = 0;

 private:
  // Brings compressed bytes; none at the end of the file.
  absl::Status Fill();
  // Holds the place against the borders, between members.
  absl::Status PassBorder();

  InputFile file_;
  std::int64_t file_bytes_ = 0;
  std::int64_t read_ = 0;  // bytes of the file that were read
  std::vector<char> compressed_;
  std::string_view left_;   // of them, not decoded yet
  bool in_member_ = false;  // a file holds at least one
  bool began_ = false;
  std::vector<PackedBorder> borders_;
  std::size_t passed_ = 0;  // of them
  std::int64_t text_at_ = 0;
};

/// Makes the reader of a packed file, whose decoder may hold `decoder_bytes_max`.
/// Requires: packing is not kNone.
std::unique_ptr<PackedInput> MakePackedInput(Packing packing, std::int64_t decoder_bytes_max);

}  // namespace weir
