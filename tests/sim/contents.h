#pragma once

// What simulated runs stand for: which bytes of the input each place of a section was made of, in
// which order. Sized files carry no values; this says whether a result would be right. Upstream:
// SimTask. Downstream: checkers.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace weir::sim {

/// A piece of one input file.
struct InputPiece {
  std::string path;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const InputPiece&, const InputPiece&) = default;
  friend auto operator<=>(const InputPiece&, const InputPiece&) = default;
};

/// Places [begin, end) of the unit interval, each made of `input`, left to right.
struct ContentPiece {
  double begin = 0;
  double end = 0;
  std::vector<InputPiece> input;
};

/// Pieces by rising places.
using Content = std::vector<ContentPiece>;

/// Adds a piece behind others; what continues the last one makes that longer.
void AppendInput(const InputPiece& piece, std::vector<InputPiece>& input);

/// Folds in the order given: where several have a place, their input follows one another.
Content Fold(const std::vector<Content>& operands);

/// What of it lies in [begin, end).
Content Cut(const Content& content, double begin, double end);

/// Sum of the lengths of its pieces.
double LengthOf(const Content& content);

/// Contents of sections of all jobs, and of the parts made of them.
class Contents {
 public:
  void Put(const std::string& job, const std::string& run, int consumer, Content content) {
    sections_[{job, run, consumer}] = std::move(content);
  }
  /// Null where nobody knows: in later layers, and of text.
  const Content* Find(const std::string& job, const std::string& run, int consumer) const {
    const auto found = sections_.find({job, run, consumer});
    return found == sections_.end() ? nullptr : &found->second;
  }
  /// Of the last attempt at part `index`.
  void PutPart(const std::string& job, int index, Content content) {
    parts_[job][index] = std::move(content);
  }
  /// All parts of a job together; empty where nobody knows.
  Content ResultOf(const std::string& job) const;

 private:
  std::map<std::tuple<std::string, std::string, int>, Content> sections_;
  std::map<std::string, std::map<int, Content>> parts_;
};

}  // namespace weir::sim
