#include "jobs/engine/loop/loop_sections.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"

namespace weir {
namespace {

struct BlockHeader {
  std::uint32_t content = 0;
  std::int32_t iteration = 0;
  std::int64_t places = 0;
  std::int64_t first_place = 0;
};

}  // namespace

absl::Status WrongLoopSection(std::string_view what) {
  const std::string message = absl::StrCat("a section of a loop does not fit: ", std::string(what));
  return StepErrorStatus(
      absl::StatusCode::kDataLoss,
      {std::string(step_error::kDataLoss), message,
       "run the job again; if it repeats, check the versions of the workers", "", 0});
}

absl::Status WriteLoopSection(const LoopSection& section, std::string_view bytes,
                              std::int64_t place_bytes, RunSink& sink) {
  constexpr auto kHeaderBytes = static_cast<std::int64_t>(sizeof(BlockHeader));
  const std::int64_t places_a_block = (kBlockBytesMax - kHeaderBytes) / place_bytes;
  const auto num_places = static_cast<std::int64_t>(bytes.size()) / place_bytes;
  std::string block;
  for (std::int64_t at = 0; at < num_places; at += places_a_block) {
    const std::int64_t count = std::min(places_a_block, num_places - at);
    const BlockHeader header{static_cast<std::uint32_t>(section.content), section.iteration,
                             section.places, section.first_place + at};
    block.resize(static_cast<std::size_t>(kHeaderBytes + count * place_bytes));
    std::memcpy(block.data(), &header, sizeof(header));
    std::memcpy(block.data() + kHeaderBytes, bytes.data() + at * place_bytes,
                static_cast<std::size_t>(count * place_bytes));
    if (absl::Status status = sink.Append(block, count); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LoopSection>> ReadLoopSection(RunSource& source,
                                                         std::int64_t place_bytes) {
  std::vector<LoopSection> pieces;
  std::int64_t end = 0;  // of the last piece
  while (true) {
    const absl::StatusOr<absl::Span<const char>> block = source.NextBlock();
    if (!block.ok()) return block.status();
    if (block->empty()) return pieces;
    BlockHeader header;
    if (block->size() < sizeof(header) ||
        (block->size() - sizeof(header)) % static_cast<std::size_t>(place_bytes) != 0) {
      return WrongLoopSection(absl::StrCat("a block of ", block->size(), " bytes has no whole ",
                                           "places of ", place_bytes));
    }
    std::memcpy(&header, block->data(), sizeof(header));
    const auto added = static_cast<std::int64_t>(block->size() - sizeof(header)) / place_bytes;
    const LoopSection piece{static_cast<LoopContent>(header.content),
                            header.iteration,
                            header.places,
                            header.first_place,
                            {}};
    const bool known =
        piece.content == LoopContent::kElement || piece.content == LoopContent::kState;
    const bool same = pieces.empty() ||
                      (pieces[0].content == piece.content &&
                       pieces[0].iteration == piece.iteration && pieces[0].places == piece.places);
    if (!known || !same || piece.first_place < end || added > piece.places - piece.first_place) {
      return WrongLoopSection(absl::StrCat("a block begins at place ", header.first_place, " of ",
                                           header.places, " of iteration ", header.iteration,
                                           "; expected one from ", end, " on"));
    }
    if (pieces.empty() || piece.first_place > end) pieces.push_back(piece);
    pieces.back().bytes.append(block->data() + sizeof(header), block->size() - sizeof(header));
    end = piece.first_place + added;
  }
}

std::vector<std::pair<std::int64_t, std::int64_t>> ConsumerPlaces(
    absl::Span<const double> consumer_key_end, std::int64_t places, std::int64_t begin,
    std::int64_t end) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::int64_t at = begin;
  for (std::size_t i = 0; i < consumer_key_end.size(); ++i) {
    const auto rounded =
        static_cast<std::int64_t>(std::llround(consumer_key_end[i] * static_cast<double>(places)));
    const bool last = i + 1 == consumer_key_end.size();
    const std::int64_t to = last ? end : std::clamp(rounded, at, end);
    ranges.emplace_back(at, to);
    at = to;
  }
  return ranges;
}

}  // namespace weir
