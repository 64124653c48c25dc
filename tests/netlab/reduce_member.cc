// One member of the comparison with MPI (reduce_lab.py): carries out the calls that its command
// line lists, as reduce_mpi.c does.
//
// Arguments: MASTER GROUP SIZE RANK HOST, then one call each as reduce_mpi.c takes them.

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "runtime/reduce/reduce.h"

namespace {

using weir::reduce::Group;
using weir::reduce::Operation;

double NowS() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A sum that takes so long per element, waiting for what it does not compute.
Operation CostlySum(double seconds_per_element) {
  return Operation::Of<double>(
      "costly sum",
      [seconds_per_element](std::span<const double> l, std::span<const double> r,
                            std::span<double> result) {
        const double end_s = NowS() + seconds_per_element * static_cast<double>(result.size());
        for (std::size_t i = 0; i < result.size(); ++i) result[i] = l[i] + r[i];
        const auto whole = static_cast<time_t>(end_s);
        const timespec until = {whole,
                                static_cast<long>((end_s - static_cast<double>(whole)) * 1e9)};
        while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
        }
      },
      {.seconds_per_element = seconds_per_element});
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  weir::reduce::GroupOptions options;
  options.master = argv[1];
  options.group = argv[2];
  options.size = std::atoi(argv[3]);
  options.rank = std::atoi(argv[4]);
  options.listen = std::string(argv[5]) + ":0";
  auto joined = Group::Join(options);
  if (!joined.ok()) return Fail(joined.status());
  Group& group = **joined;
  const int size = group.size();
  std::vector<std::int64_t> barrier(1);
  for (int at = 6; at < argc; ++at) {
    char kind[16];
    char operation[16];
    long bytes = 0;
    double seconds_per_element = 0;
    int repeats = 0;
    if (std::sscanf(argv[at], "%15[^:]:%ld:%15[^:]:%lf:%d", kind, &bytes, operation,
                    &seconds_per_element, &repeats) != 5) {
      std::fprintf(stderr, "what is '%s'?\n", argv[at]);
      return 2;
    }
    const bool reduces = std::strcmp(kind, "reduce") == 0;
    const Operation op =
        std::strcmp(operation, "sum") == 0 ? Operation::Sum() : CostlySum(seconds_per_element);
    std::vector<double> mine(static_cast<std::size_t>(bytes) / 8);
    // Plans once, as a program that reduces more than once does.
    const double plan_begin_s = NowS();
    absl::Status planned = reduces ? group.PrepareReduce<double>(mine.size(), op)
                                   : group.PrepareAllReduce<double>(mine.size(), op);
    if (!planned.ok()) return Fail(planned);
    const double plan_s = NowS() - plan_begin_s;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (std::size_t i = 0; i < mine.size(); ++i)
        mine[i] = static_cast<double>(i % 1000) + group.rank();
      absl::Status done = group.AllReduce(std::span(barrier), Operation::Sum());
      if (!done.ok()) return Fail(done);
      const double begin_s = NowS();
      done = reduces ? group.Reduce(std::span(mine), op) : group.AllReduce(std::span(mine), op);
      const double end_s = NowS();
      if (!done.ok()) return Fail(done);
      bool right = true;
      if (!reduces || group.rank() == 0) {
        for (std::size_t i = 0; i < mine.size(); ++i) {
          if (mine[i] !=
              static_cast<double>(i % 1000) * size + static_cast<double>(size * (size - 1)) / 2)
            right = false;
        }
      }
      std::printf(
          "{\"call\": %d, \"repeat\": %d, \"rank\": %d, \"begin_s\": %.6f, \"end_s\": %.6f, "
          "\"right\": %s, \"predicted_s\": %.6f, \"plan_s\": %.6f, \"method\": \"%s\"}\n",
          at - 6, repeat, group.rank(), begin_s, end_s, right ? "true" : "false",
          group.LastPrediction(), plan_s, group.LastMethod().c_str());
      std::fflush(stdout);
    }
  }
  return 0;
}
