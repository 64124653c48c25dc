// What each copy between a file and a file over loopback costs, and whether the kernel knows a way
// around it. A sender process hands a file in the page cache to a TCP socket, a receiver process
// takes it in one of several ways; nothing of Weir's data plane takes part but its checksum and its
// sizes (kPieceBytes). Ways take turns; shown are medians.
//
//   sender: sendfile           nothing is copied and nothing read
//           read, sendfile     each piece is read into a buffer and its checksum taken, as Weir
//           does
//   receiver: recv             into a buffer, and forgotten: what iperf3 does
//             checksum         recv, checksum
//             write            recv, write to the file
//             checksum, write  as Weir does
//             splice           socket to pipe to file
//             splice, checksum the same, then the file's pages are read where they lie
//             mapped           recv straight into pages of the mapped file
//             mapped, checksum the same, and the checksum taken there
//             io_uring         recv and write as one chain of the ring a piece
//
// Files lie in the page cache. Received ones are written over themselves, or with "fresh" are empty
// before each turn, so that the kernel has to find their pages. Prints one JSON object.
// Usage: copies_bench [FILE_MIB [ROUNDS [DIRECTORY [fresh]]]]   (1024, 5, /tmp)

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "runtime/format/xxh3_stream.h"

namespace {

constexpr std::size_t kPieceBytes = 128 << 10;  // that Weir's reader waits for, and checks at once
constexpr std::size_t kSendFileBytes = 256 << 10;
constexpr int kPipeBytes = 1 << 20;

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::size_t Must(ssize_t result, const char* what) {
  if (result < 0) Fail(what);
  return static_cast<std::size_t>(result);
}

// Keeps a checksum from being left out by the compiler.
std::uint64_t sum_of_all = 0;

struct Received {
  int socket;
  int file;
  char* mapped;  // the whole file
  std::size_t bytes;
  std::vector<char>& buffer;
};

// Fills a piece as Weir's reader does: woken once for all of it.
void ReceivePiece(const Received& to, char* into, std::size_t bytes) {
  for (std::size_t got = 0; got < bytes;) {
    const std::size_t more = Must(::recv(to.socket, into + got, bytes - got, MSG_WAITALL), "recv");
    if (more == 0) Fail("the sender has ended");
    got += more;
  }
}

void ForEachPiece(const Received& to, const std::function<void(std::size_t, std::size_t)>& piece) {
  for (std::size_t at = 0; at < to.bytes; at += kPieceBytes) {
    piece(at, std::min(kPieceBytes, to.bytes - at));
  }
}

void Write(const Received& to, std::size_t at, std::size_t bytes) {
  if (Must(::pwrite(to.file, to.buffer.data(), bytes, static_cast<off_t>(at)), "pwrite") != bytes) {
    Fail("pwrite wrote less");
  }
}

void Copied(const Received& to, bool checked, bool written) {
  weir::format::Xxh3Stream checksum;
  ForEachPiece(to, [&](std::size_t at, std::size_t bytes) {
    ReceivePiece(to, to.buffer.data(), bytes);
    if (checked) checksum.Append({to.buffer.data(), bytes});
    if (written) Write(to, at, bytes);
  });
  sum_of_all += checksum.Digest();
}

void Mapped(const Received& to, bool checked) {
  weir::format::Xxh3Stream checksum;
  ForEachPiece(to, [&](std::size_t at, std::size_t bytes) {
    ReceivePiece(to, to.mapped + at, bytes);
    if (checked) checksum.Append({to.mapped + at, bytes});
  });
  sum_of_all += checksum.Digest();
}

void Spliced(const Received& to, bool checked) {
  weir::format::Xxh3Stream checksum;
  int ends[2];
  if (::pipe(ends) != 0) Fail("pipe");
  if (::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes) < 0) Fail("F_SETPIPE_SZ");
  off64_t at = 0;
  std::size_t checked_bytes = 0;
  while (static_cast<std::size_t>(at) < to.bytes) {
    std::size_t held = Must(
        ::splice(to.socket, nullptr, ends[1], nullptr, kPipeBytes, SPLICE_F_MOVE), "splice in");
    if (held == 0) Fail("the sender has ended");
    while (held > 0) {
      held -= Must(::splice(ends[0], nullptr, to.file, &at, held, SPLICE_F_MOVE), "splice out");
    }
    const std::size_t there = static_cast<std::size_t>(at) - checked_bytes;
    if (checked && (there >= kPieceBytes || static_cast<std::size_t>(at) == to.bytes)) {
      checksum.Append({to.mapped + checked_bytes, there});
      checked_bytes += there;
    }
  }
  sum_of_all += checksum.Digest();
  ::close(ends[0]);
  ::close(ends[1]);
}

// A ring of two entries by system calls: no library for one bench.
class Ring {
 public:
  Ring() {
    io_uring_params params = {};
    fd_ = static_cast<int>(::syscall(SYS_io_uring_setup, 2, &params));
    if (fd_ < 0) return;
    // Both rings lie in one mapping (IORING_FEAT_SINGLE_MMAP, Linux 5.4).
    const std::size_t bytes =
        std::max(params.sq_off.array + params.sq_entries * sizeof(std::uint32_t),
                 params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    char* rings = static_cast<char*>(Map(bytes, IORING_OFF_SQ_RING));
    entries_ =
        static_cast<io_uring_sqe*>(Map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    const auto at = [rings](std::uint32_t offset) {
      return reinterpret_cast<std::uint32_t*>(rings + offset);
    };
    sq_tail_ = at(params.sq_off.tail);
    sq_mask_ = *at(params.sq_off.ring_mask);
    sq_array_ = at(params.sq_off.array);
    cq_head_ = at(params.cq_off.head);
    cq_tail_ = at(params.cq_off.tail);
    cq_mask_ = *at(params.cq_off.ring_mask);
    results_ = reinterpret_cast<io_uring_cqe*>(rings + params.cq_off.cqes);
  }
  ~Ring() {
    if (fd_ >= 0) ::close(fd_);
  }

  bool there() const { return fd_ >= 0; }

  // Receives all of a piece, and then writes it, in one call of the kernel.
  void ReceiveAndWrite(const Received& to, std::size_t at, std::size_t bytes) {
    Add(IORING_OP_RECV, to.socket, to, 0, bytes, MSG_WAITALL, IOSQE_IO_LINK);
    Add(IORING_OP_WRITE, to.file, to, at, bytes, 0, 0);
    for (int done = 0; done < 2;) {
      if (::syscall(SYS_io_uring_enter, fd_, done == 0 ? 2 : 0, 2 - done, IORING_ENTER_GETEVENTS,
                    nullptr, 0) < 0) {
        Fail("io_uring_enter");
      }
      std::uint32_t head = *cq_head_;
      for (; head != std::atomic_ref(*cq_tail_).load(std::memory_order_acquire); ++head, ++done) {
        if (results_[head & cq_mask_].res != static_cast<int>(bytes)) Fail("io_uring moved less");
      }
      std::atomic_ref(*cq_head_).store(head, std::memory_order_release);
    }
  }

 private:
  void* Map(std::size_t bytes, std::uint64_t what) const {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                          static_cast<off_t>(what));
    if (mapped == MAP_FAILED) Fail("mmap of a ring");
    return mapped;
  }

  void Add(std::uint8_t operation, int fd, const Received& to, std::size_t at, std::size_t bytes,
           std::uint32_t message_flags, std::uint8_t flags) {
    const std::uint32_t tail = *sq_tail_;
    io_uring_sqe& entry = entries_[tail & sq_mask_];
    entry = {};
    entry.opcode = operation;
    entry.flags = flags;
    entry.fd = fd;
    entry.off = at;
    entry.addr = reinterpret_cast<std::uint64_t>(to.buffer.data());
    entry.len = static_cast<std::uint32_t>(bytes);
    entry.msg_flags = message_flags;
    sq_array_[tail & sq_mask_] = tail & sq_mask_;
    std::atomic_ref(*sq_tail_).store(tail + 1, std::memory_order_release);
  }

  int fd_ = -1;
  io_uring_sqe* entries_ = nullptr;
  io_uring_cqe* results_ = nullptr;
  std::uint32_t *sq_tail_ = nullptr, *sq_array_ = nullptr, *cq_head_ = nullptr, *cq_tail_ = nullptr;
  std::uint32_t sq_mask_ = 0, cq_mask_ = 0;
};

void ByRing(const Received& to, Ring& ring) {
  ForEachPiece(to, [&](std::size_t at, std::size_t bytes) { ring.ReceiveAndWrite(to, at, bytes); });
}

[[noreturn]] void Send(const std::string& path, std::size_t bytes, bool checked, int port) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = static_cast<in_port_t>(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (file < 0 ||
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    Fail("the sender");
  }
  std::vector<char> buffer(kSendFileBytes);
  weir::format::Xxh3Stream checksum;
  off_t at = 0;
  for (off_t read = 0; static_cast<std::size_t>(at) < bytes;) {
    if (checked && read == at) {
      const std::size_t got = Must(::pread(file, buffer.data(), buffer.size(), at), "pread");
      checksum.Append({buffer.data(), got});
      read += static_cast<off_t>(got);
    }
    const std::size_t piece = checked ? static_cast<std::size_t>(read - at) : kSendFileBytes;
    Must(::sendfile(socket, file, &at, std::min(piece, bytes - static_cast<std::size_t>(at))),
         "sendfile");
  }
  ::_exit(checksum.Digest() == 1 ? 3 : 0);
}

struct Cost {
  double gb_per_s, sender_cpu_s_per_gb, receiver_cpu_s_per_gb;
};

double CpuSeconds(const rusage& usage) {
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

double CpuSecondsOfThis() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return CpuSeconds(usage);
}

Cost Run(const std::string& from, bool checked, Received to,
         const std::function<void(const Received&)>& receive) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 1) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    Fail("listen");
  }
  const pid_t sender = ::fork();
  if (sender == 0) Send(from, to.bytes, checked, address.sin_port);
  to.socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (to.socket < 0) Fail("accept");
  const double cpu_before_s = CpuSecondsOfThis();
  const auto begin = std::chrono::steady_clock::now();
  receive(to);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  const double cpu_s = CpuSecondsOfThis() - cpu_before_s;
  rusage usage = {};
  int status = 0;
  ::wait4(sender, &status, 0, &usage);
  if (status != 0) Fail("the sender failed");
  ::close(to.socket);
  ::close(listener);
  const double gb = static_cast<double>(to.bytes) / 1e9;
  return {gb / wall.count(), CpuSeconds(usage) / gb, cpu_s / gb};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void MakeFile(const std::string& path, std::size_t bytes, char salt) {
  FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) Fail(path.c_str());
  std::vector<char> block(1 << 20);
  for (std::size_t i = 0; i < block.size(); ++i) {
    block[i] = static_cast<char>(i * 7 + i / 251 + static_cast<std::size_t>(salt));
  }
  for (std::size_t at = 0; at < bytes; at += block.size()) {
    if (std::fwrite(block.data(), 1, block.size(), file) != block.size()) Fail(path.c_str());
  }
  if (std::fclose(file) != 0) Fail(path.c_str());
}

char* MapFile(int file, std::size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) Fail("mmap");
  return static_cast<char*>(mapped);
}

struct Way {
  std::string name;
  bool checked_by_sender = false;
  bool lands = false;  // in the file, byte by byte
  std::function<void(const Received&)> receive;
};

}  // namespace

int main(int argc, char** argv) {
  const long mib = argc > 1 ? std::atol(argv[1]) : 1024;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  std::string folder = std::string(argc > 3 ? argv[3] : "/tmp") + "/copies_bench_XXXXXX";
  const bool fresh = argc > 4 && std::strcmp(argv[4], "fresh") == 0;
  if (mib < 1 || rounds < 1 || argc > 5 || (argc > 4 && !fresh)) {
    std::fprintf(stderr, "usage: copies_bench [FILE_MIB [ROUNDS [DIRECTORY [fresh]]]]\n");
    return 2;
  }
  if (::mkdtemp(folder.data()) == nullptr) Fail(folder.c_str());
  const std::size_t bytes = static_cast<std::size_t>(mib) << 20;
  const std::string from = folder + "/from";
  const std::string into = folder + "/into";
  MakeFile(from, bytes, 0);
  MakeFile(into, bytes, 1);
  const int sent = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  const int file = ::open(into.c_str(), O_RDWR | O_CLOEXEC);
  if (sent < 0 || file < 0) Fail("open");
  void* wanted = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, sent, 0);
  if (wanted == MAP_FAILED) Fail("mmap");
  std::vector<char> buffer(kPieceBytes);
  const Received to = {-1, file, MapFile(file, bytes), bytes, buffer};
  Ring ring;

  std::vector<Way> ways = {
      {"sendfile | recv", false, false, [](const Received& r) { Copied(r, false, false); }},
      {"read, sendfile | recv", true, false, [](const Received& r) { Copied(r, false, false); }},
      {"sendfile | checksum", false, false, [](const Received& r) { Copied(r, true, false); }},
      {"sendfile | write", false, true, [](const Received& r) { Copied(r, false, true); }},
      {"sendfile | checksum, write", false, true, [](const Received& r) { Copied(r, true, true); }},
      {"read, sendfile | checksum, write", true, true,
       [](const Received& r) { Copied(r, true, true); }},
      {"sendfile | splice", false, true, [](const Received& r) { Spliced(r, false); }},
      {"sendfile | splice, checksum", false, true, [](const Received& r) { Spliced(r, true); }},
      {"sendfile | mapped", false, true, [](const Received& r) { Mapped(r, false); }},
      {"sendfile | mapped, checksum", false, true, [](const Received& r) { Mapped(r, true); }}};
  if (ring.there()) {
    ways.push_back(
        {"sendfile | io_uring", false, true, [&](const Received& r) { ByRing(r, ring); }});
  }
  std::vector<std::vector<Cost>> costs(ways.size());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      // What lands in the first turn, which is not counted, is compared.
      if (round == 0) std::memset(to.mapped, 0, bytes);
      if (fresh &&
          (::ftruncate(file, 0) != 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0)) {
        Fail("ftruncate");
      }
      const Cost cost = Run(from, ways[i].checked_by_sender, to, ways[i].receive);
      if (round > 0) {
        costs[i].push_back(cost);
      } else if (ways[i].lands && std::memcmp(to.mapped, wanted, bytes) != 0) {
        std::fprintf(stderr, "%s: the files differ\n", ways[i].name.c_str());
        return 1;
      }
    }
  }
  std::filesystem::remove_all(folder);

  nlohmann::json out = {{"bench", "copies"},        {"file_mib", mib},
                        {"rounds", rounds},         {"fresh", fresh},
                        {"io_uring", ring.there()}, {"ways", nlohmann::json::object()}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto median = [&](double Cost::*field) {
      std::vector<double> values;
      for (const Cost& cost : costs[i]) values.push_back(cost.*field);
      return Median(values);
    };
    out["ways"][ways[i].name] = {{"gb_per_s", median(&Cost::gb_per_s)},
                                 {"sender_cpu_s_per_gb", median(&Cost::sender_cpu_s_per_gb)},
                                 {"receiver_cpu_s_per_gb", median(&Cost::receiver_cpu_s_per_gb)}};
  }
  std::printf("%s\n", out.dump(2).c_str());
  return sum_of_all == 1 ? 3 : 0;
}
