#include "runtime/master/input_ranges.h"

#include <algorithm>
#include <utility>

namespace weir::master {

InputRanges::InputRanges(InputList input) : input_(std::move(input)) {
  file_begin_.reserve(input_.files.size());
  std::int64_t begin = 0;
  for (const InputFile& file : input_.files) {
    file_begin_.push_back(begin);
    begin += file.bytes;
  }
}

std::vector<v1::InputRange> InputRanges::Cut(planner::Bytes begin, planner::Bytes end) const {
  std::vector<v1::InputRange> ranges;
  if (begin >= end) return ranges;
  const auto after = std::upper_bound(file_begin_.begin(), file_begin_.end(), begin);
  for (std::size_t i = static_cast<std::size_t>(after - file_begin_.begin()) - 1;
       i < input_.files.size() && file_begin_[i] < end; ++i) {
    const InputFile& file = input_.files[i];
    const std::int64_t from = std::max(begin, file_begin_[i]) - file_begin_[i];
    const std::int64_t to = std::min(end, file_begin_[i] + file.bytes) - file_begin_[i];
    if (from >= to) continue;
    v1::InputRange& range = ranges.emplace_back();
    range.set_path(file.path);
    range.set_begin(from);
    range.set_end(to);
    range.set_file_bytes(file.bytes);
  }
  return ranges;
}

}  // namespace weir::master
