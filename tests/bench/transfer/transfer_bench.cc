// Speed of the data plane over loopback, beside iperf3 in the same run. Two processes, as two
// daemons: one serves a file, one fetches it again and again. What is compared:
//
//   file to file     weir as it is used: read, checksum, send, receive, verify, write
//   file to nothing  the same, written to /dev/null
//   iperf3           memory to nothing: one stream, nothing read, checked or written
//   iperf3 file      iperf3 -F at both ends: file to file, nothing checked
//
// The four take turns; shown are medians, and of the ratios taken turn by turn. CPU seconds are
// those of each end's whole process. Files are written over themselves, so that no first touch of
// memory is measured; nothing waits for a disk. Prints one JSON object.
//
// Usage: transfer_bench [FILE_MIB [ROUNDS [DIRECTORY]]]   (1024, 5, /tmp)
// On a machine that others use as well: chrt -r 5 transfer_bench

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asio/executor_work_guard.hpp"
#include "asio/io_context.hpp"
#include "nlohmann/json.hpp"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/transfer/data_plane.h"

namespace {

constexpr int kTransferThreads = 2;  // as in a daemon

// What moved in what time, and what it cost either end.
struct Speed {
  double gb_per_s = 0;
  double sender_cpu_s_per_gb = 0;
  double receiver_cpu_s_per_gb = 0;
};

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "transfer_bench: %s\n", why.c_str());
  std::exit(1);
}

double CpuSecondsOf(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double CpuSecondsOf(const rusage& usage) {
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

class Threads {
 public:
  Threads() {
    for (int i = 0; i < kTransferThreads; ++i) threads_.emplace_back([this] { context_.run(); });
  }
  ~Threads() {
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }
  asio::any_io_executor executor() { return context_.get_executor(); }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{context_.get_executor()};
  std::vector<std::thread> threads_;
};

// Serves the run until its parent is gone. Says on `answer` where.
[[noreturn]] void Serve(const std::string& run, std::int64_t bytes, int answer) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  weir::env::AsioEventLoop loop;
  Threads threads;
  auto catalog = std::make_shared<weir::transfer::PublishedRuns>();
  catalog->AddJob({"bench", 1, 1, 1});
  const absl::Status published = catalog->Publish("bench", "1.1", {run, bytes});
  auto server = weir::transfer::MakeDataServer(threads.executor(), catalog, loop, {});
  if (!published.ok() || !server.ok()) Fail(server.status().ToString());
  const std::string endpoint = (*server)->endpoint() + "\n";
  if (::write(answer, endpoint.data(), endpoint.size()) < 0) Fail("cannot answer");
  while (true) ::pause();
}

class Weir {
 public:
  Weir(const std::string& run, std::int64_t bytes) : bytes_(bytes) {
    int ends[2];
    if (::pipe(ends) != 0) Fail("no pipe");
    server_ = ::fork();
    if (server_ == 0) Serve(run, bytes, ends[1]);
    ::close(ends[1]);
    for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) endpoint_ += c;
    ::close(ends[0]);
    threads_ = std::make_unique<Threads>();
    fetcher_ = weir::transfer::MakeFetcher(threads_->executor(), loop_, {});
  }
  ~Weir() {
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
  }

  Speed Run(const std::string& destination) {
    const double sender_before = CpuSecondsOf(server_);
    const double receiver_before = CpuSecondsOf(::getpid());
    const auto begin = std::chrono::steady_clock::now();
    Fetch(destination);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const double gb = static_cast<double>(bytes_) / 1e9;
    return {gb / wall.count(), (CpuSecondsOf(server_) - sender_before) / gb,
            (CpuSecondsOf(::getpid()) - receiver_before) / gb};
  }

 private:
  void Fetch(const std::string& destination) {
    weir::transfer::FetchOrder order;
    order.key = {"bench", 1, 1, 1};
    order.peer_endpoint = endpoint_;
    order.peer_name = "sender";
    order.run_id = "1.1";
    order.bytes = bytes_;
    order.destination_path = destination;
    bool done = false;
    fetcher_->Fetch(order, nullptr, [&done](const absl::StatusOr<weir::transfer::FetchResult>& r) {
      if (!r.ok()) Fail(r.status().ToString());
      done = true;
    });
    loop_.RunUntil([&done] { return done; });
  }

  const std::int64_t bytes_;
  pid_t server_ = 0;
  std::string endpoint_;
  weir::env::AsioEventLoop loop_;
  std::unique_ptr<Threads> threads_;
  std::unique_ptr<weir::transfer::Fetcher> fetcher_;
};

// Runs a command; returns the CPU seconds of its process, and what it printed in `text`.
double CpuSecondsOfCommand(const std::string& command, std::string& text) {
  rusage before{};
  ::getrusage(RUSAGE_CHILDREN, &before);
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) Fail("cannot run " + command);
  char bytes[4096];
  for (std::size_t n = 0; (n = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;)
    text.append(bytes, n);
  ::pclose(pipe);
  rusage after{};
  ::getrusage(RUSAGE_CHILDREN, &after);
  return CpuSecondsOf(after) - CpuSecondsOf(before);
}

// Zeros when iperf3 is not there. `options` for client and server name what is sent and kept.
Speed RunIperf(std::int64_t bytes, const std::string& client, const std::string& server) {
  const std::string port = " -p 5299 ";
  std::string text;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string command = "exec iperf3 -s -1" + port + server + " >/dev/null 2>&1";
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double client_cpu = CpuSecondsOfCommand(
      "iperf3 -c 127.0.0.1" + port + client + " -n " + std::to_string(bytes) + " -J 2>/dev/null",
      text);
  rusage usage{};
  int status = 0;
  ::kill(pid, SIGTERM);
  ::wait4(pid, &status, 0, &usage);
  const double server_cpu = CpuSecondsOf(usage);
  const nlohmann::json report = nlohmann::json::parse(text, nullptr, false);
  if (!report.is_object() || !report.contains("end") || !report["end"].contains("sum_received")) {
    return {};
  }
  const nlohmann::json& sum = report["end"]["sum_received"];
  const double gb = sum["bytes"].get<double>() / 1e9;
  return {sum["bits_per_second"].get<double>() / 8e9, client_cpu / gb, server_cpu / gb};
}

void MakeRun(const std::string& path, std::int64_t mib) {
  FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) Fail("cannot make " + path);
  std::vector<char> block(1 << 20);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(i * 7 + i / 251);
  for (std::int64_t i = 0; i < mib; ++i) std::fwrite(block.data(), 1, block.size(), file);
  if (std::fclose(file) != 0) Fail("cannot write " + path);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

nlohmann::json MedianOf(const std::vector<Speed>& runs) {
  const auto median = [&runs](double Speed::*field) {
    std::vector<double> values;
    for (const Speed& run : runs) values.push_back(run.*field);
    return Median(values);
  };
  return {{"gb_per_s", median(&Speed::gb_per_s)},
          {"sender_cpu_s_per_gb", median(&Speed::sender_cpu_s_per_gb)},
          {"receiver_cpu_s_per_gb", median(&Speed::receiver_cpu_s_per_gb)}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t file_mib = argc > 1 ? std::atoll(argv[1]) : 1024;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  std::string folder = argc > 3 ? argv[3] : "/tmp";
  if (file_mib < 1 || rounds < 1) {
    std::fprintf(stderr, "usage: transfer_bench [FILE_MIB [ROUNDS [DIRECTORY]]]\n");
    return 2;
  }
  folder += "/transfer_bench_XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) Fail("cannot make " + folder);
  const std::int64_t bytes = file_mib << 20;
  const std::string run = folder + "/run";
  const std::string received = folder + "/received";
  MakeRun(run, file_mib);
  std::vector<std::pair<std::string, std::function<Speed()>>> programs;
  Weir weir(run, bytes);
  programs.emplace_back("weir_file_to_file", [&] { return weir.Run(received); });
  programs.emplace_back("weir_file_to_nothing", [&] { return weir.Run("/dev/null"); });
  programs.emplace_back("iperf3", [&] { return RunIperf(bytes, "", ""); });
  programs.emplace_back("iperf3_file_to_file",
                        [&] { return RunIperf(bytes, "-F " + run, "-F " + received); });
  std::vector<std::vector<Speed>> runs(programs.size());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const Speed speed = programs[i].second();
      if (round > 0) runs[i].push_back(speed);  // the first connects and fills caches
    }
  }
  std::filesystem::remove_all(folder);

  nlohmann::json out = {{"bench", "transfer_loopback"}, {"file_mib", file_mib}, {"rounds", rounds}};
  for (std::size_t i = 0; i < programs.size(); ++i) {
    nlohmann::json& row = out[programs[i].first];
    row = MedianOf(runs[i]);
    std::vector<double> ratios;
    for (int k = 0; k < rounds; ++k) {
      if (runs[2][k].gb_per_s > 0) ratios.push_back(runs[i][k].gb_per_s / runs[2][k].gb_per_s);
    }
    if (!ratios.empty()) row["to_iperf3"] = Median(ratios);
  }
  std::printf("%s\n", out.dump(2).c_str());
  return 0;
}
