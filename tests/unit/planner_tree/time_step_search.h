#pragma once

// Exhaustive search in whole units of time, for the brute-force references of these tests.

#include <set>
#include <utility>
#include <vector>

namespace weir::planner::tree {

/// Returns the first instant at which a state that can be reached from `first` is `done`.
///
/// At each instant, `choose(state, add)` adds every state that one more decision makes of a state,
/// until there is nothing new; `pass(state)` then lets a unit of time go by. States that are alike
/// must compare equal, so both leave them sorted. Does not end where no state is ever done.
template <typename State, typename Done, typename Choose, typename Pass>
int FirstInstantDone(State first, Done done, Choose choose, Pass pass) {
  std::set<State> front = {std::move(first)};
  for (int t = 0;; ++t) {
    std::set<State> seen = front;
    std::vector<State> open(front.begin(), front.end());
    while (!open.empty()) {
      const State state = std::move(open.back());
      open.pop_back();
      if (done(state)) return t;
      choose(state, [&](State next) {
        if (seen.insert(next).second) open.push_back(std::move(next));
      });
    }
    front.clear();
    for (State state : seen) {
      pass(state);
      front.insert(std::move(state));
    }
  }
}

}  // namespace weir::planner::tree
