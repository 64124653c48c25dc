#include "runtime/master/input/input_ranges.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jobs/api/program.h"

namespace weir::master {
namespace {

// The piece that holds a place of a packed file. Requires: 0 <= inside < bytes.
planner::ByteRange PieceAt(const InputFile& file, std::int64_t inside) {
  if (file.borders.empty()) return {0, file.bytes};
  const auto after =
      std::upper_bound(file.borders.begin(), file.borders.end(), inside,
                       [](std::int64_t at, const MemberBorder& border) { return at < border.at; });
  return {std::prev(after)->at, after->at};
}

void AddBorders(const InputFile& file, v1::InputRange& range) {
  if (file.borders.empty()) return;
  for (const MemberBorder& border : file.borders) {
    if (border.at < range.begin() || border.at > range.end()) continue;
    v1::PackedBorder& added = *range.add_borders();
    added.set_at(border.at);
    added.set_text_at(border.text_at);
  }
  range.set_text_bytes(file.borders.back().text_at);
}

}  // namespace

std::vector<planner::ByteRange> UncutRanges(const InputList& input) {
  std::vector<planner::ByteRange> uncut;
  std::int64_t begin = 0;
  for (const InputFile& file : input.files) {
    for (std::int64_t at = 0; IsPacked(file.path) && at < file.bytes;) {
      const planner::ByteRange piece = PieceAt(file, at);
      uncut.push_back({begin + piece.begin, begin + piece.end});
      at = piece.end;
    }
    begin += file.bytes;
  }
  return uncut;
}

bool PacksGzipWhole(const InputList& input) {
  return std::all_of(input.files.begin(), input.files.end(), [](const InputFile& file) {
    return !IsPacked(file.path) || (PackingOf(file.path) == Packing::kGzip && file.borders.empty());
  });
}

InputRanges::InputRanges(InputList input) : input_(std::move(input)) {
  file_begin_.reserve(input_.files.size());
  std::int64_t begin = 0;
  for (const InputFile& file : input_.files) {
    file_begin_.push_back(begin);
    begin += file.bytes;
  }
}

std::uint64_t InputRanges::Fingerprint() const {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  const auto take = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3; };
  const auto take_number = [&take](std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      take(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> shift));
    }
  };
  for (const InputFile& file : input_.files) {
    for (const char c : file.path) take(static_cast<unsigned char>(c));
    take_number(file.bytes);
    take_number(file.version.modified_ns);
  }
  return hash;
}

// The last file that begins at or before the position. Requires: position < total_bytes.
std::size_t InputRanges::FileAt(planner::Bytes position) const {
  const auto after = std::upper_bound(file_begin_.begin(), file_begin_.end(), position);
  return static_cast<std::size_t>(after - file_begin_.begin()) - 1;
}

planner::Bytes InputRanges::MoveToBorder(planner::Bytes cut) const {
  if (cut >= input_.total_bytes) return cut;
  const std::size_t i = FileAt(cut);
  const InputFile& file = input_.files[i];
  const std::int64_t inside = cut - file_begin_[i];
  if (inside == 0 || !IsPacked(file.path)) return cut;
  const planner::ByteRange piece = PieceAt(file, inside);
  return file_begin_[i] + (inside - piece.begin < piece.end - inside ? piece.begin : piece.end);
}

std::vector<v1::InputRange> InputRanges::Cut(planner::Bytes begin, planner::Bytes end) const {
  std::vector<v1::InputRange> ranges;
  begin = MoveToBorder(begin);
  end = MoveToBorder(end);
  if (begin >= end) return ranges;
  for (std::size_t i = FileAt(begin); i < input_.files.size() && file_begin_[i] < end; ++i) {
    const InputFile& file = input_.files[i];
    const std::int64_t from = std::max(begin, file_begin_[i]) - file_begin_[i];
    const std::int64_t to = std::min(end, file_begin_[i] + file.bytes) - file_begin_[i];
    if (from >= to) continue;
    v1::InputRange& range = ranges.emplace_back();
    range.set_path(file.path);
    range.set_begin(from);
    range.set_end(to);
    range.set_file_bytes(file.bytes);
    AddBorders(file, range);
    v1::FileVersion& version = *range.mutable_version();
    version.set_modified_ns(file.version.modified_ns);
    version.set_changed_ns(file.version.changed_ns);
    version.set_inode(file.version.inode);
    version.set_device(file.version.device);
    version.set_machine(file.version.machine);
  }
  return ranges;
}

}  // namespace weir::master
