#include "tests/sim/sim_loop.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jobs/records/parameters.h"
#include "tests/sim/sim_job.h"

namespace weir::sim {
namespace {

constexpr char kState[] = "state ";

/// FNV-1a, so that a state is short, whatever it was made of.
std::uint64_t HashOf(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string TextOf(const LoopPlace& place) {
  std::string text;
  for (const InputPiece& piece : place) {
    absl::StrAppend(&text, piece.path, " ", piece.begin, "-", piece.end, "\n");
  }
  return text;
}

class LoopJob final : public DescribedJob {
 public:
  LoopJob() : DescribedJob(kLoopJob, "iterates over nothing, in virtual time") {
    info_.parameters = {IntegerParameter("iterations", 3, 1, 1000, ""),
                        IntegerParameter("converges", -1, -1, 1000, "")};
  }
  absl::StatusOr<std::optional<LoopInfo>> Loop(const ParameterValues& values) const override {
    LoopInfo loop;
    loop.iterations = static_cast<std::int32_t>(IntegerOf(values, "iterations"));
    loop.element_places = loop.state_places = kLoopPlaces;
    return loop;
  }
};

}  // namespace

std::unique_ptr<JobDefinition> MakeLoopJob() { return std::make_unique<LoopJob>(); }

LoopPlace MapWithState(const LoopPlace& input, const LoopPlace& state) {
  LoopPlace made = input;
  for (InputPiece& piece : made) {
    if (!state.empty()) absl::StrAppend(&piece.path, " with ", state[0].path);
  }
  return made;
}

LoopPlace NextState(int iteration, const LoopPlace& element, const LoopPlace& state) {
  const std::uint64_t hash =
      HashOf(absl::StrCat(iteration, "\n", TextOf(state), "of\n", TextOf(element)));
  return {{absl::StrCat(kState, iteration, " ", absl::Hex(hash, absl::kZeroPad16)), 0, 1}};
}

bool IsState(const Content& content) {
  return content.size() == 1 && content[0].input.size() == 1 &&
         absl::StartsWith(content[0].input[0].path, kState);
}

LoopPlace SequentialState(const LoopPlace& input, int iterations) {
  LoopPlace state;
  for (int i = 0; i <= iterations; ++i) state = NextState(i, MapWithState(input, state), state);
  return state;
}

}  // namespace weir::sim
