#include "jobs/stream/line_groups.h"

#include <cstddef>
#include <limits>

#include "jobs/stream/input_blocks.h"

namespace weir::stream {
namespace {

// [begin, end) of a text.
struct TextPlaces {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

constexpr std::int64_t kAllOfIt = std::numeric_limits<std::int64_t>::max();

// Where the groups of a range begin.
TextPlaces PlacesOf(const InputRange& range) {
  if (!IsPacked(range.path)) return {range.begin, range.end};
  if (!range.borders.empty()) return {range.borders.front().text_at, range.borders.back().text_at};
  // The range that holds its byte 0 has all of it.
  const bool has_all = range.begin == 0 && range.begin < range.end;
  return {0, has_all ? kAllOfIt : 0};
}

// Bytes of the lines that belong to a group of which `group_lines` are missing, as far as the text
// goes; counts them.
std::size_t BytesOfGroup(std::string_view text, std::int64_t missing_lines, std::int64_t& lines) {
  std::size_t end = 0;
  for (lines = 0; end < text.size() && lines < missing_lines; ++lines) {
    end = text.find('\n', end) + 1;
  }
  return end;
}

}  // namespace

InputRange WholeFile(const InputRange& range) {
  InputRange whole = range;
  whole.begin = 0;
  whole.end = range.file_bytes;
  if (!whole.borders.empty()) whole.borders = {{0, 0}, {range.file_bytes, range.text_bytes}};
  return whole;
}

absl::Status ForEachLineGroup(const InputRange& range, std::int64_t group_lines,
                              StepContext& context, const std::function<bool()>& is_stopped,
                              const TakeGroupLines& take) {
  // Every line begins a group of one.
  const bool counts = group_lines > 1;
  const TextPlaces places = counts ? PlacesOf(range) : TextPlaces{0, kAllOfIt};
  if (places.begin >= places.end) {
    context.AddProgress(range.end - range.begin);
    return absl::OkStatus();
  }
  const InputRange text = counts ? WholeFile(range) : range;
  std::int64_t missing_lines = group_lines;  // of the group that was begun
  bool is_own = false;                       // that group
  bool passed = false;                       // the range
  const std::function<bool()> ends = [&] { return passed || is_stopped(); };
  return ForEachLineBlock(text, range, context, ends, [&](const TextBlock& block) {
    std::string_view left = block.text();
    while (!left.empty() && !ends()) {
      if (missing_lines == group_lines) {
        const std::int64_t at = block.file_offset + (left.data() - block.data);
        is_own = at >= places.begin && at < places.end;
        passed = at >= places.end;
        if (passed) break;
      }
      std::int64_t lines = 0;
      const std::size_t bytes = BytesOfGroup(left, missing_lines, lines);
      missing_lines -= lines;
      const bool whole = missing_lines == 0;
      if (is_own) {
        if (absl::Status taken = take(block, left.substr(0, bytes), whole); !taken.ok()) {
          return taken;
        }
      }
      if (whole) missing_lines = group_lines;
      left.remove_prefix(bytes);
    }
    return absl::OkStatus();
  });
}

}  // namespace weir::stream
