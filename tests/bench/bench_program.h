#pragma once

// What bench programs share: a clock, and flags.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace weir::bench {

/// Wall time of one call, in seconds.
double SecondsOf(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A flag that stands alone, or one with a whole number: one of both targets.
struct BenchFlag {
  std::string_view name;
  bool* given = nullptr;
  int* number = nullptr;
  int least = 1;  // smaller numbers count as this
};

/// Reads flags; whatever is none of them ends the program with 2 and says `usage`.
inline void ReadFlags(int argc, char** argv, std::initializer_list<BenchFlag> flags,
                      const char* usage) {
  for (int i = 1; i < argc; ++i) {
    const auto flag = std::find_if(flags.begin(), flags.end(),
                                   [&](const BenchFlag& known) { return known.name == argv[i]; });
    if (flag == flags.end() || (flag->number != nullptr && i + 1 >= argc)) {
      std::fprintf(stderr, "usage: %s\n", usage);
      std::exit(2);
    }
    if (flag->given != nullptr) *flag->given = true;
    if (flag->number != nullptr) *flag->number = std::max(flag->least, std::atoi(argv[++i]));
  }
}

}  // namespace weir::bench
