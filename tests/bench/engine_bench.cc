// Runs a job's steps over a file without the rest of Weir, as embedded workers of one slot would:
// what the engine costs by itself, and a program small enough for a profiler. Upstream: a person,
// instruction_counts.py. Downstream: jobs/testing, the jobs.
//   engine_bench JOB INPUT [STEPS [THREADS]]

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/onebrc/onebrc.h"
#include "jobs/terasort/terasort.h"
#include "jobs/testing/in_process_job.h"
#include "jobs/weather/weather.h"
#include "jobs/wordcount/wordcount.h"

namespace {

using weir::JobProgram;
using weir::testing::MemoryPart;
using weir::testing::MemoryRun;
using weir::testing::RecordingContext;

struct BenchJob {
  std::string_view name;
  std::unique_ptr<weir::JobDefinition> (*make)();
  bool refers_to_input = true;  // as `weir run` lets runs do; workers of a cluster hold records
};
constexpr std::array<BenchJob, 5> kJobs = {
    {{"wordcount", weir::wordcount::MakeDefinition},
     {"onebrc", weir::onebrc::MakeDefinition},
     {"weather", weir::weather::MakeDefinition},
     {"terasort", weir::terasort::MakeDefinition},
     {"terasort-held", weir::terasort::MakeDefinition, false}}};

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

}  // namespace

// The profiler tells by these names what a map step costs and what a reduce step. C names stay the
// same whatever the compiler makes of C++ ones.
extern "C" {

[[gnu::noinline]] void weir_bench_map_step(JobProgram& program, const weir::MapOrder& order,
                                           MemoryRun& run, RecordingContext& context) {
  Check(program.Map(order, run, context).status());
}

[[gnu::noinline]] void weir_bench_reduce_step(JobProgram& program, weir::ReduceOrder order,
                                              MemoryRun* run, MemoryPart* part,
                                              RecordingContext& context) {
  if (run != nullptr) {
    Check(program.ReduceToRun(std::move(order), *run, context).status());
  } else {
    Check(program.ReduceToPart(std::move(order), *part, context).status());
  }
}
}

namespace {

class Bench {
 public:
  Bench(const weir::JobDefinition& job, const std::string& input, int steps, int threads,
        bool refers_to_input)
      : job_(job),
        values_(weir::CheckParameters(job.info(), {})),
        cut_(weir::testing::EvenCut({input}, steps, steps, 1)),
        steps_(steps),
        threads_(threads),
        refers_to_input_(refers_to_input) {
    Check(values_.status());
  }

  void Map() {
    runs_ = std::vector<MemoryRun>(static_cast<std::size_t>(steps_));
    Each([&](std::size_t step, JobProgram& program, RecordingContext& context) {
      if (step >= cut_.mappers.size()) return;
      weir_bench_map_step(program, {cut_.mappers[step], cut_.consumer_key_end}, runs_[step],
                          context);
    });
  }

  void Reduce() {
    const int layers = static_cast<int>(job_.info().rates.layers.size());
    for (int layer = 1; layer <= layers; ++layer) {
      std::vector<MemoryRun> reduced(static_cast<std::size_t>(steps_));
      std::vector<MemoryPart> parts(static_cast<std::size_t>(steps_));
      const bool last = layer == layers;
      Each([&](std::size_t step, JobProgram& program, RecordingContext& context) {
        weir::ReduceOrder order;
        order.layer = layer;
        order.index_in_layer = static_cast<int>(step);
        order.inputs = weir::testing::SectionsOf(runs_, static_cast<int>(step));
        if (!last) order.consumer_key_end = cut_.consumer_key_end;
        weir_bench_reduce_step(program, std::move(order), last ? nullptr : &reduced[step],
                               &parts[step], context);
      });
      runs_ = std::move(reduced);
    }
  }

 private:
  void Each(const auto& body) {
    weir::testing::ThreadPerCall(threads_).RunOnAll([&](int thread) {
      for (int step = thread; step < steps_; step += threads_) {
        RecordingContext context(1);
        context.input_is_shared = refers_to_input_;
        const auto program = job_.MakeProgram(*values_);
        Check(program.status());
        body(static_cast<std::size_t>(step), **program, context);
      }
    });
  }

  const weir::JobDefinition& job_;
  const absl::StatusOr<weir::ParameterValues> values_;
  const weir::testing::JobCut cut_;
  const int steps_;
  const int threads_;
  const bool refers_to_input_;
  std::vector<MemoryRun> runs_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 2 ? argv[1] : "";
  const int steps = argc > 3 ? std::atoi(argv[3]) : 2;
  const int threads = argc > 4 ? std::atoi(argv[4]) : steps;
  for (const BenchJob& job : kJobs) {
    if (job.name != name || steps < 1 || threads < 1) continue;
    const std::unique_ptr<weir::JobDefinition> definition = job.make();
    Bench bench(*definition, argv[2], steps, threads, job.refers_to_input);
    bench.Map();
    const double map_s = CpuSeconds();
    bench.Reduce();
    std::printf("map %.2f CPU s, reduce %.2f CPU s\n", map_s, CpuSeconds() - map_s);
    return 0;
  }
  std::fputs(
      "usage: engine_bench wordcount|onebrc|weather|terasort|terasort-held INPUT [STEPS "
      "[THREADS]]\n",
      stderr);
  return 2;
}
