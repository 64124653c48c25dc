#pragma once

// Pieces of a value that meet place by place. Upstream: value_program.h. Downstream: the author's
// Split, Combine and Join.

#include <concepts>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace weir {

/// A job whose value can be cut into pieces of whole places that combine one by one.
template <typename Job>
concept SplitsItsValue = requires(const Job& job, typename Job::Value& into,
                                  const typename Job::Value& value, std::int64_t place) {
  { job.Places() } -> std::same_as<std::int64_t>;
  { job.Split(value, place, place) } -> std::same_as<typename Job::Value>;
  job.Join(into, value);
};

namespace value_internal {

template <typename Job>
concept NamesSplitOrJoin = requires {
  &Job::Split;
}
|| requires { &Job::Join; }
|| requires { &Job::Places; };

template <typename Job>
std::int64_t PlacesOf(const Job& job) {
  if constexpr (SplitsItsValue<Job>) {
    return job.Places();
  } else {
    return 1;
  }
}

template <typename Job>
constexpr bool HasOneReducer() {
  if constexpr (requires { Job::kOneReducer; }) {
    return Job::kOneReducer;
  } else {
    return false;
  }
}

template <typename Job>
typename Job::Value NeutralOf(const Job& job) {
  if constexpr (requires { job.Neutral(); }) {
    return job.Neutral();
  } else {
    return typename Job::Value{};
  }
}

/// The value of some places; `touched` by a record, or else neutral and without a value.
template <typename Value>
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool touched = false;
  Value value = {};
};

/// Combines pieces that come in the order of the operands, place by place.
template <typename Job>
class FoldedPieces {
 public:
  using Value = typename Job::Value;
  using PieceOf = Piece<Value>;

  explicit FoldedPieces(const Job& job) : job_(job) {}

  /// `right` comes later in the input than what was added before.
  void Add(PieceOf right) {
    while (right.begin < right.end) {
      // The first piece that ends behind where the new one begins.
      auto at = pieces_.upper_bound(right.begin);
      if (at != pieces_.begin() && std::prev(at)->second.end > right.begin) --at;
      if (at == pieces_.end() || at->second.begin >= right.end) {
        const std::int64_t begin = right.begin;
        pieces_.emplace(begin, std::move(right));
        return;
      }
      if (at->second.begin > right.begin) {
        PieceOf before = CutFront(right, at->second.begin);
        const std::int64_t begin = before.begin;
        pieces_.emplace(begin, std::move(before));
        continue;
      }
      if (at->second.begin < right.begin) at = CutAt(at, right.begin);
      if (at->second.end > right.end) CutAt(at, right.end);
      if (at->second.end == right.end) {
        Fold(at->second, std::move(right));
        return;
      }
      PieceOf part = CutFront(right, at->second.end);
      Fold(at->second, std::move(part));
    }
  }

  /// Returns what lies in [begin, end) in order, neighbours joined, and leaves it out from here on.
  std::vector<PieceOf> Take(std::int64_t begin, std::int64_t end) {
    std::vector<PieceOf> taken;
    for (auto at = pieces_.begin(); at != pieces_.end() && at->second.begin < end;) {
      if (at->second.end <= begin) {
        ++at;
        continue;
      }
      if (at->second.begin < begin) at = CutAt(at, begin);
      if (at->second.end > end) CutAt(at, end);
      PieceOf& piece = at->second;
      const bool follows = !taken.empty() && taken.back().end == piece.begin &&
                           taken.back().touched == piece.touched;
      if (follows) {
        Join(taken.back(), piece);
      } else {
        taken.push_back(std::move(piece));
      }
      at = pieces_.erase(at);
    }
    return taken;
  }

 private:
  using Pieces = std::map<std::int64_t, PieceOf>;

  // Places of the piece from `begin` up to `end`, counted as the element counts them.
  PieceOf Part(const PieceOf& piece, std::int64_t begin, std::int64_t end) const {
    PieceOf part{begin, end, piece.touched};
    if constexpr (SplitsItsValue<Job>) {
      if (piece.touched) {
        part.value = job_.Split(piece.value, begin - piece.begin, end - piece.begin);
      }
    }
    return part;
  }

  PieceOf CutFront(PieceOf& piece, std::int64_t end) const {
    PieceOf front = Part(piece, piece.begin, end);
    piece = Part(piece, end, piece.end);
    return front;
  }

  // Returns the second of both.
  typename Pieces::iterator CutAt(typename Pieces::iterator at, std::int64_t place) {
    PieceOf second = Part(at->second, place, at->second.end);
    at->second = Part(at->second, at->second.begin, place);
    return pieces_.emplace(place, std::move(second)).first;
  }

  void Fold(PieceOf& into, PieceOf from) const {
    if (!from.touched) return;
    if (into.touched) {
      job_.Combine(into.value, from.value);
    } else {
      into.value = std::move(from.value);
      into.touched = true;
    }
  }

  void Join(PieceOf& into, const PieceOf& next) const {
    into.end = next.end;
    if constexpr (SplitsItsValue<Job>) {
      if (into.touched) job_.Join(into.value, next.value);
    }
  }

  const Job& job_;
  Pieces pieces_;  // by begin; none overlap
};

}  // namespace value_internal

}  // namespace weir
