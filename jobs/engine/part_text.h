#pragma once

// Collects the formatted lines of a part. Upstream: a job's Format. Downstream: PartSink.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "jobs/api/key_codec.h"
#include "jobs/api/program.h"
#include "jobs/engine/pieces/spare_texts.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {

/// Hands text to the sink in large pieces. Bounds: kFillBytes and one record.
class PartText {
 public:
  explicit PartText(PartSink& sink) : sink_(sink) {}
  /// Takes its memory from `spare`, which outlives it.
  PartText(PartSink& sink, SpareTexts& spare) : sink_(sink), spare_(&spare), text_(spare.Take()) {}
  ~PartText() {
    if (spare_ != nullptr) spare_->Return(std::move(text_));
  }
  PartText(const PartText&) = delete;
  PartText& operator=(const PartText&) = delete;

  /// Appends one record: `format(std::string& out)` writes it. One that writes nothing is no record
  /// of the part: a result, but none that whoever counts the part would find.
  template <typename Format>
  [[gnu::always_inline]] absl::Status Add(Format&& format) {
    const std::size_t before = text_.size();
    format(text_);
    const std::int64_t written = text_.size() != before ? 1 : 0;
    text_records_ += written;
    records_ += written;
    return text_.size() < kFillBytes ? absl::OkStatus() : FlushFull();
  }

  absl::Status Flush() {
    if (text_.empty()) return absl::OkStatus();
    absl::Status status = sink_.AppendText(text_, text_records_);
    text_records_ = 0;
    return status;
  }

  /// Those that wrote something, in this text and all before.
  std::int64_t records() const { return records_; }

 private:
  static constexpr std::size_t kFillBytes = 256 << 10;

  // What is beyond a multiple of kFillBytes stays: the kernel takes a fifth more for the pages of a
  // file when writes begin and end within them.
  absl::Status FlushFull() {
    const std::size_t full = text_.size() / kFillBytes * kFillBytes;
    rest_.assign(text_, full);
    text_.resize(full);
    absl::Status status = Flush();
    text_.append(rest_);
    return status;
  }

  PartSink& sink_;
  SpareTexts* const spare_ = nullptr;
  std::string text_;
  std::string rest_;
  std::int64_t text_records_ = 0;
  std::int64_t records_ = 0;
};

/// Adds what Format writes of a result whose key is there as bytes. Errors: those of the sink;
/// kDataLoss for a key that does not decode.
template <typename Job>
[[gnu::always_inline]] inline absl::Status AddResult(const Job& job, std::string_view key_bytes,
                                                     const typename Job::Value& value,
                                                     PartText& text) {
  using Form = KeyForm<typename Job::Key>;
  typename Form::Held key{};
  if (!Form::Read(key_bytes, key)) return DamagedSection();
  return text.Add([&](std::string& out) { job.Format(Form::Of(key), value, out); });
}

}  // namespace weir
