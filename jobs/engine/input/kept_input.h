#pragma once

// Input that pairs point into until they are written. Upstream: MapRanges. Downstream:
// group_layer.h.

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/engine/input/mapped_part.h"

namespace weir {

/// What read a range, with the blocks of it that stay.
class KeptInput {
 public:
  virtual ~KeptInput() = default;
  /// Whether all that was seen of them, until now, was what the file held: nothing counts that was
  /// made of them before this says so. Errors: those of InputText.
  virtual absl::Status CheckUnchanged() const = 0;
  /// Where those blocks lie, and in which file.
  virtual MappedBytes mapped() const = 0;
  virtual InputRange AsOpened() const = 0;
};

/// `Source`: FixedBlocks.
template <typename Source>
class KeptSource : public KeptInput {
 public:
  explicit KeptSource(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  absl::Status CheckUnchanged() const override { return source_->CheckUnchanged(); }
  MappedBytes mapped() const override { return source_->mapped(); }
  InputRange AsOpened() const override { return source_->AsOpened(); }

 private:
  const std::unique_ptr<Source> source_;
};

using KeptInputs = std::vector<std::unique_ptr<KeptInput>>;

}  // namespace weir
