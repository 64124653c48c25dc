#include "jobs/engine/loop/loop_sections.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/vector/vector_block.h"

namespace weir {

absl::Status WrongLoopSection(std::string_view what) {
  const std::string message = absl::StrCat("a section of a loop does not fit: ", std::string(what));
  return StepErrorStatus(
      absl::StatusCode::kDataLoss,
      {std::string(step_error::kDataLoss), message,
       "run the job again; if it repeats, check the versions of the workers", "", 0});
}

absl::Status WriteLoopSection(const LoopSection& section, std::string_view bytes,
                              std::int64_t place_bytes, RunSink& sink) {
  constexpr auto kHeadBytes = static_cast<std::int64_t>(sizeof(VectorBlockHead));
  const std::int64_t places_a_block = (kBlockBytesMax - kHeadBytes) / place_bytes;
  const auto num_places = static_cast<std::int64_t>(bytes.size()) / place_bytes;
  std::string block;
  for (std::int64_t at = 0; at < num_places; at += places_a_block) {
    const std::int64_t count = std::min(places_a_block, num_places - at);
    BeginVectorBlock({section.first_place + at, count, section.places,
                      static_cast<std::uint32_t>(section.content), section.iteration},
                     block);
    block.append(bytes.data() + at * place_bytes, static_cast<std::size_t>(count * place_bytes));
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
    const absl::StatusOr<VectorBlockHead> head = ReadVectorBlock(*block, place_bytes, end);
    if (!head.ok()) {
      const absl::string_view why = head.status().message();
      return WrongLoopSection(std::string_view(why.data(), why.size()));
    }
    const absl::Span<const char> values = ValuesOfVectorBlock(*block);
    const LoopSection piece{
        static_cast<LoopContent>(head->content), head->iteration, head->places, head->first, {}};
    const bool known =
        piece.content == LoopContent::kElement || piece.content == LoopContent::kState;
    const bool same = pieces.empty() ||
                      (pieces[0].content == piece.content &&
                       pieces[0].iteration == piece.iteration && pieces[0].places == piece.places);
    if (!known || !same || values.empty()) {
      return WrongLoopSection(absl::StrCat(
          "a block of ", values.size(), " bytes of values, content ", head->content, ", iteration ",
          head->iteration, ", ", head->places, " places, is not as those before"));
    }
    if (pieces.empty() || piece.first_place > end) pieces.push_back(piece);
    pieces.back().bytes.append(values.data(), values.size());
    end = piece.first_place + head->count;
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
