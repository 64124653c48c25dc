#include "planner/job/map_chunks.h"

#include <algorithm>

#include "planner/order/whole_bytes.h"

namespace weir::planner {
namespace {

Bytes NearestBorder(const std::vector<ByteRange>& uncut, Bytes cut) {
  const auto after = std::upper_bound(uncut.begin(), uncut.end(), cut,
                                      [](Bytes at, const ByteRange& r) { return at < r.begin; });
  if (after == uncut.begin()) return cut;
  const ByteRange& range = *std::prev(after);
  if (cut >= range.end) return cut;
  return cut - range.begin < range.end - cut ? range.begin : range.end;
}

}  // namespace

std::vector<Bytes> MapChunks(const JobShape& shape, absl::Span<const double> shares) {
  std::vector<Bytes> chunks = WholeBytes(shape.input_bytes, shares);
  Bytes cut = 0;
  Bytes begin = 0;
  for (Bytes& chunk : chunks) {
    cut += chunk;
    const Bytes end = NearestBorder(shape.uncut, cut);
    chunk = end - begin;
    begin = end;
  }
  return chunks;
}

std::vector<Bytes> EvenChunks(const JobShape& shape, std::int32_t num_workers) {
  const std::int32_t count = shape.num_mappers > 0 ? shape.num_mappers : num_workers;
  std::vector<Bytes> chunks =
      MapChunks(shape, std::vector<double>(static_cast<std::size_t>(count), 1.0));
  if (shape.num_mappers == 0 && !shape.uncut.empty()) std::erase(chunks, 0);
  return chunks;
}

std::int32_t MappersMax(const JobShape& shape, std::int32_t num_workers) {
  Bytes uncut_bytes = 0;
  for (const ByteRange& range : shape.uncut) uncut_bytes += range.end - range.begin;
  if (uncut_bytes == 0 || uncut_bytes < shape.input_bytes) return num_workers;
  return static_cast<std::int32_t>(
      std::min(static_cast<std::size_t>(num_workers), shape.uncut.size()));
}

Bytes LargestUncut(const JobShape& shape) {
  Bytes largest = 0;
  for (const ByteRange& range : shape.uncut) largest = std::max(largest, range.end - range.begin);
  return largest;
}

bool LargestChunkIsUncut(const JobShape& shape, const Plan& plan) {
  Bytes largest = 0;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->reads_input()) largest = std::max(largest, step.input_bytes);
  }
  return largest > 0 && largest <= LargestUncut(shape);
}

}  // namespace weir::planner
