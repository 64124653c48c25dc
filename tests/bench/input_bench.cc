// What it costs to bring a file before a job: its blocks in place against copies of them, on this
// file system and in this state of the page cache.
//   input_bench FILE in-place|copied [THREADS]
// Prints lines counted, CPU seconds (user and system) and wall seconds.

#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "jobs/api/scan/byte_scan.h"
#include "jobs/engine/input/delimited_blocks.h"

namespace {

// As much work as a job has at least: each byte is looked at once.
std::int64_t CountLines(const weir::InputRange& range, weir::InputAccess access) {
  weir::DelimitedBlocks blocks(weir::Delimiters("\n"), range, access);
  weir::TextBlock block;
  std::int64_t lines = 0;
  while (true) {
    const auto more = blocks.Next(block);
    if (!more.ok()) {
      std::fprintf(stderr, "%s\n", more.status().ToString().c_str());
      std::exit(1);
    }
    if (!*more) return lines;
    std::int64_t at = 0;
    for (; at + 64 <= block.bytes; at += 64) {
      lines += weir::CountBits(weir::EitherMask(block.data + at, '\n', '\n'));
    }
    for (; at < block.bytes; ++at) lines += block.data[at] == '\n' ? 1 : 0;
  }
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 2 ? argv[2] : "";
  if (how != "in-place" && how != "copied") {
    std::fputs("usage: input_bench FILE in-place|copied [THREADS]\n", stderr);
    return 2;
  }
  struct stat status {};
  if (::stat(argv[1], &status) != 0) {
    std::perror(argv[1]);
    return 1;
  }
  const auto access = how == "copied" ? weir::InputAccess::kCopied : weir::InputAccess::kInPlace;
  const int num_threads = argc > 3 ? std::atoi(argv[3]) : 1;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::int64_t> lines(static_cast<std::size_t>(num_threads));
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i) {
    threads.emplace_back([&, i] {
      const weir::InputRange range = {
          argv[1], status.st_size / num_threads * i,
          i + 1 == num_threads ? status.st_size : status.st_size / num_threads * (i + 1),
          status.st_size};
      lines[static_cast<std::size_t>(i)] = CountLines(range, access);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::int64_t all_lines = 0;
  for (const std::int64_t of_thread : lines) all_lines += of_thread;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%lld lines, user %.3f s, system %.3f s, wall %.3f s, peak %ld MB\n",
              static_cast<long long>(all_lines), Seconds(usage.ru_utime), Seconds(usage.ru_stime),
              wall.count(), usage.ru_maxrss / 1024);
  return 0;
}
