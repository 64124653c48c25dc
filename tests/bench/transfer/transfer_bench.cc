// Speed of the data plane over loopback: sender and receiver in this process, a file in memory sent
// again and again. Prints one JSON object; beside it what iperf3 reaches on the same machine, when
// it is installed. Usage: transfer_bench [FILE_MIB [ROUNDS]]

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "asio/executor_work_guard.hpp"
#include "asio/io_context.hpp"
#include "nlohmann/json.hpp"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/transfer/data_plane.h"
#include "tests/unit/format/scratch_file.h"

namespace {

using weir::transfer::DataServer;
using weir::transfer::Fetcher;
using weir::transfer::FetchOrder;

constexpr char kIperf[] =
    "sh -c 'command -v iperf3 >/dev/null || exit 0; iperf3 -s -1 -p 5299 >/dev/null & sleep 0.5; "
    "iperf3 -c 127.0.0.1 -p 5299 -t 3 -J' 2>/dev/null";

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Speed {
  double gb_per_s = 0;
  double cpu_s_per_gb = 0;
};

class Bench {
 public:
  explicit Bench(std::int64_t file_bytes) : file_bytes_(file_bytes) {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { context_.run(); });
    weir::format::WriteAll(folder_.File("run"),
                           std::string(static_cast<std::size_t>(file_bytes), 'x'));
    catalog_->AddJob({"bench", 1, 1, 1});
    const absl::Status published =
        catalog_->Publish("bench", "1.1", {folder_.File("run"), file_bytes});
    auto server = weir::transfer::MakeDataServer(context_.get_executor(), catalog_, loop_, {});
    if (!published.ok() || !server.ok()) {
      std::fprintf(stderr, "cannot serve: %s\n", server.status().ToString().c_str());
      std::exit(1);
    }
    server_ = *std::move(server);
    fetcher_ = weir::transfer::MakeFetcher(context_.get_executor(), loop_, {});
  }
  ~Bench() {
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  Speed Run(int rounds) {
    Fetch();  // connects and fills the page cache
    const double cpu_before = CpuSeconds();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) Fetch();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const double gb = static_cast<double>(file_bytes_) * rounds / 1e9;
    return {gb / wall.count(), (CpuSeconds() - cpu_before) / gb};
  }

 private:
  void Fetch() {
    FetchOrder order;
    order.key = {"bench", 1, 1, 1};
    order.peer_endpoint = server_->endpoint();
    order.peer_name = "sender";
    order.run_id = "1.1";
    order.bytes = file_bytes_;
    order.destination_path = folder_.File("received");
    bool done = false;
    fetcher_->Fetch(
        order, [] {},
        [&done](const absl::StatusOr<weir::transfer::FetchResult>& r) {
          if (!r.ok()) {
            std::fprintf(stderr, "%s\n", r.status().ToString().c_str());
            std::exit(1);
          }
          done = true;
        });
    loop_.RunUntil([&done] { return done; });
  }

  const std::int64_t file_bytes_;
  weir::format::ScratchFolder folder_;
  weir::env::AsioEventLoop loop_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{context_.get_executor()};
  std::vector<std::thread> threads_;
  std::shared_ptr<weir::transfer::PublishedRuns> catalog_ =
      std::make_shared<weir::transfer::PublishedRuns>();
  std::unique_ptr<DataServer> server_;
  std::unique_ptr<Fetcher> fetcher_;
};

// Zero when iperf3 is not there.
double IperfGbPerS() {
  FILE* pipe = ::popen(kIperf, "r");
  if (pipe == nullptr) return 0;
  std::string text;
  char bytes[4096];
  for (std::size_t n = 0; (n = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;)
    text.append(bytes, n);
  ::pclose(pipe);
  const nlohmann::json report = nlohmann::json::parse(text, nullptr, false);
  if (!report.is_object() || !report.contains("end")) return 0;
  return report["end"]["sum_received"]["bits_per_second"].get<double>() / 8e9;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t file_mib = argc > 1 ? std::atoll(argv[1]) : 512;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 8;
  if (file_mib < 1 || rounds < 1) {
    std::fprintf(stderr, "usage: transfer_bench [FILE_MIB [ROUNDS]]\n");
    return 2;
  }
  const Speed speed = Bench(file_mib << 20).Run(rounds);
  nlohmann::json out = {{"bench", "transfer_loopback"},
                        {"file_mib", file_mib},
                        {"rounds", rounds},
                        {"gb_per_s", speed.gb_per_s},
                        {"cpu_s_per_gb_both_ends", speed.cpu_s_per_gb}};
  if (const double iperf = IperfGbPerS(); iperf > 0) out["iperf3_gb_per_s"] = iperf;
  std::printf("%s\n", out.dump(2).c_str());
  return 0;
}
