#pragma once

// Says what each codec would save on a run. Upstream: run_writer.h. Downstream: the master, which
// plans the next job of the kind by it.

#include <string>
#include <string_view>
#include <vector>

#include "weir/v1/steps.pb.h"

namespace weir::format {

/// Keeps the first bytes of a run and packs them once at its end.
///
/// Thread-safety: one thread at a time.
/// Bounds: kBytes of memory; about 2 ms of processor time a run.
/// Checked by: tests/unit/format/codec_test.cc.
class CodecTrial {
 public:
  /// As much as makes a ratio of larger blocks, and little beside what a run costs.
  static constexpr std::size_t kBytes = 256 << 10;

  void Add(std::string_view block) {
    if (bytes_.size() < kBytes) bytes_.append(block.substr(0, kBytes - bytes_.size()));
  }
  /// True when Add does nothing more.
  bool full() const { return bytes_.size() == kBytes; }
  /// Returns one result a codec; none when nothing was added.
  std::vector<v1::CodecTrial> Run() const;

 private:
  std::string bytes_;
};

}  // namespace weir::format
