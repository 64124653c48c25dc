#include "jobs/wordcount/wordcount.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/part_lines.h"
#include "jobs/engine/make_program.h"
#include "jobs/records/parameters.h"
#include "jobs/wordcount/count_words.h"

namespace weir::wordcount {
namespace {

struct WordCount {
  std::string word;
  std::int64_t count;
};

// More frequent first, then in the order of bytes.
bool Before(const WordCount& a, const WordCount& b) {
  return a.count != b.count ? a.count > b.count : a.word < b.word;
}

// Keeps the first `most` by Before in a heap whose top is the last of them.
class Top {
 public:
  explicit Top(std::size_t most) : most_(most) {}

  void Add(WordCount one) {
    if (most_ == 0) return;
    if (heap_.size() == most_) {
      if (!Before(one, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), Before);
      heap_.pop_back();
    }
    heap_.push_back(std::move(one));
    std::push_heap(heap_.begin(), heap_.end(), Before);
  }

  std::vector<WordCount> Take() {
    std::sort_heap(heap_.begin(), heap_.end(), Before);
    return std::move(heap_);
  }

 private:
  const std::size_t most_;
  std::vector<WordCount> heap_;
};

class Definition : public JobDefinition {
 public:
  Definition() {
    info_.name = "wordcount";
    info_.summary = "Counts the words of text; parts hold \"word TAB count\", sorted by word";
    info_.parameters.push_back(IntegerParameter(
        "top", 10, 0, 1'000'000, "print so many of the most frequent words, with their counts"));
    // Of real text too small to be sampled (sources, dictionaries, licences of 1 to 25 MB), whose
    // words differ by a factor of four: tests/bench/predict.py --sizes 1,4,16.
    info_.rates = {3e-9, 0.53, {{16e-9, 0.6}}};
    info_.rates.output_growth = {1e6, 0.79, 22e-9};
  }

  const JobInfo& info() const override { return info_; }

  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return MakeJobProgram(CountWords());
  }

  ElementInfo Element(const ParameterValues&, int) const override {
    return ElementOf<CountWords>();
  }

  absl::Status Present(absl::Span<const std::string> part_paths, const ParameterValues& values,
                       std::ostream& out) const override {
    const std::int64_t most = IntegerOf(values, "top");
    if (most == 0) return absl::OkStatus();
    Top top(static_cast<std::size_t>(most));
    absl::Status status = VisitPartLines(part_paths, [&top](std::string_view line) {
      const std::size_t tab = line.rfind('\t');
      std::int64_t count = 0;
      if (tab == std::string_view::npos ||
          !absl::SimpleAtoi(std::string(line.substr(tab + 1)), &count)) {
        return DamagedPartLine(line);
      }
      top.Add({std::string(line.substr(0, tab)), count});
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    const std::vector<WordCount> shown = top.Take();
    const std::size_t width = shown.empty() ? 0 : absl::StrCat(shown.front().count).size();
    for (const WordCount& one : shown) {
      const std::string count = absl::StrCat(one.count);
      out << std::string(width - count.size(), ' ') << count << ' ' << one.word << '\n';
    }
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

}  // namespace

std::unique_ptr<JobDefinition> MakeDefinition() { return std::make_unique<Definition>(); }

}  // namespace weir::wordcount
