#pragma once

// Says what each codec would save on a run. Upstream: run_writer.h. Downstream: the master, which
// plans the next job of the kind by it.

#include <string>
#include <string_view>
#include <vector>

#include "weir/v1/steps.pb.h"

namespace weir::format {

/// Whether a run's writer tries codecs on it.
enum class TryCodecs { kNo, kYes };

/// Keeps the first bytes of a run and packs them once at its end, if that is wanted.
///
/// Thread-safety: one thread at a time.
/// Bounds: kBytes of memory; about 2 ms of processor time a run.
/// Checked by: tests/unit/format/codec_test.cc.
class CodecTrial {
 public:
  /// As much as makes a ratio of larger blocks, and little beside what a run costs.
  static constexpr std::size_t kBytes = 256 << 10;

  explicit CodecTrial(TryCodecs tries = TryCodecs::kYes)
      : bytes_max_(tries == TryCodecs::kYes ? kBytes : 0) {}

  void Add(std::string_view block) {
    if (!full()) bytes_.append(block.substr(0, bytes_max_ - bytes_.size()));
  }
  /// True when Add does nothing more.
  bool full() const { return bytes_.size() == bytes_max_; }
  /// Returns one result a codec; none when nothing was added.
  std::vector<v1::CodecTrial> Run() const;

 private:
  std::size_t bytes_max_;
  std::string bytes_;
};

}  // namespace weir::format
