// Runs a job's steps over a file without the rest of Weir, as embedded workers of one slot would:
// what the engine costs by itself, and a program small enough for a profiler.
//   engine_bench JOB INPUT [WORKERS]

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "jobs/onebrc/onebrc.h"
#include "jobs/terasort/terasort.h"
#include "jobs/testing/in_process_job.h"
#include "jobs/wordcount/wordcount.h"

namespace {

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

int main(int argc, char** argv) {
  using namespace weir;
  if (argc < 3) {
    std::fputs("usage: engine_bench wordcount|onebrc|terasort INPUT [WORKERS]\n", stderr);
    return 2;
  }
  const std::string name = argv[1];
  const std::unique_ptr<JobDefinition> job = name == "onebrc"     ? onebrc::MakeDefinition()
                                             : name == "terasort" ? terasort::MakeDefinition()
                                                                  : wordcount::MakeDefinition();
  const int workers = argc > 3 ? std::atoi(argv[3]) : 2;
  const testing::JobCut cut = testing::EvenCut({argv[2]}, workers, workers, 1);
  const auto values = CheckParameters(job->info(), {});
  Check(values.status());

  std::vector<testing::MemoryRun> runs(static_cast<std::size_t>(workers));
  testing::ThreadPerCall(workers).RunOnAll([&](int worker) {
    const auto i = static_cast<std::size_t>(worker);
    testing::RecordingContext context(1);
    const auto program = job->MakeProgram(*values);
    Check(program.status());
    Check((*program)->Map({cut.mappers[i], cut.consumer_key_end}, runs[i], context).status());
  });
  const double map_s = CpuSeconds();
  std::vector<testing::MemoryPart> parts(static_cast<std::size_t>(workers));
  testing::ThreadPerCall(workers).RunOnAll([&](int worker) {
    testing::RecordingContext context(1);
    ReduceOrder order;
    for (const testing::MemoryRun& run : runs) {
      const auto section = run.sections().find(worker);
      order.inputs.push_back(std::make_unique<testing::MemorySource>(
          section == run.sections().end() ? std::vector<std::string>() : section->second));
    }
    const auto program = job->MakeProgram(*values);
    Check(program.status());
    Check((*program)
              ->ReduceToPart(std::move(order), parts[static_cast<std::size_t>(worker)], context)
              .status());
  });
  std::printf("map %.2f CPU s, reduce %.2f CPU s\n", map_s, CpuSeconds() - map_s);
  return 0;
}
