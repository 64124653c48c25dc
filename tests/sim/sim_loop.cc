#include "tests/sim/sim_loop.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

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

class LoopJob final : public JobDefinition {
 public:
  LoopJob() {
    info_.name = kLoopJob;
    info_.summary = "iterates over nothing, in virtual time";
    Add("iterations", "3", 1);
    Add("converges", "-1", -1);
  }
  const JobInfo& info() const override { return info_; }
  absl::StatusOr<std::optional<LoopInfo>> Loop(const ParameterValues& values) const override {
    LoopInfo loop;
    (void)absl::SimpleAtoi(values.at("iterations"), &loop.iterations);
    loop.element_places = loop.state_places = kLoopPlaces;
    return loop;
  }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return absl::UnimplementedError("simulated jobs have no program");
  }
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return absl::UnimplementedError("simulated jobs have no result");
  }

 private:
  void Add(const char* name, const char* value, std::int64_t min) {
    ParameterInfo& parameter = info_.parameters.emplace_back();
    parameter.name = name;
    parameter.type = ParameterInfo::Type::kInteger;
    parameter.default_value = value;
    parameter.min = min;
    parameter.max = 1000;
  }

  JobInfo info_;
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
