// The practical limit of sorting 100-byte records by their 10-byte keys on this machine: one
// purpose, one file, two threads, input mapped, everything in memory. Weir's CPU time is held
// against it.
//   limit_terasort INPUT OUTPUT [THREADS]

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/bench/limit_input.h"

namespace {

constexpr std::size_t kRecord = 100;
constexpr int kBucketBits = 11;
constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
constexpr std::size_t kAhead = 16;

// The whole key, and where the record is, which also decides between equal keys.
struct Entry {
  std::uint64_t first;
  std::uint32_t index;
  std::uint16_t second;

  bool operator<(const Entry& other) const {
    if (first != other.first) return first < other.first;
    return second != other.second ? second < other.second : index < other.index;
  }
};

std::uint64_t FirstOf(const char* record) {
  std::uint64_t bits;
  std::memcpy(&bits, record, sizeof bits);
  return __builtin_bswap64(bits);
}

std::uint16_t SecondOf(const char* record) {
  std::uint16_t bits;
  std::memcpy(&bits, record + 8, sizeof bits);
  return __builtin_bswap16(bits);
}

void WriteAll(int fd, const std::vector<char>& bytes, std::size_t offset) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t done =
        ::pwrite(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(offset + at));
    if (done < 0) {
      std::perror("pwrite");
      std::exit(1);
    }
    at += static_cast<std::size_t>(done);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: limit_terasort INPUT OUTPUT [THREADS]\n", stderr);
    return 2;
  }
  const limit::Input input = limit::MapInput(argv[1]);
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  const std::size_t records = input.bytes / kRecord;
  const auto share = [&](int thread) {
    return records * static_cast<std::size_t>(thread) / static_cast<std::size_t>(threads);
  };
  // Where each thread's entries of a bucket go: counted, then summed up.
  std::vector<std::vector<std::size_t>> places(static_cast<std::size_t>(threads),
                                               std::vector<std::size_t>(kBuckets));
  limit::RunThreads(threads, [&](int thread) {
    auto& counts = places[static_cast<std::size_t>(thread)];
    for (std::size_t i = share(thread); i < share(thread + 1); ++i) {
      ++counts[FirstOf(input.data + i * kRecord) >> (64 - kBucketBits)];
    }
  });
  std::vector<std::size_t> begins(kBuckets + 1);
  std::size_t sum = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    begins[bucket] = sum;
    for (auto& counts : places) {
      const std::size_t count = counts[bucket];
      counts[bucket] = sum;
      sum += count;
    }
  }
  begins[kBuckets] = sum;
  const auto entries = std::make_unique_for_overwrite<Entry[]>(records);
  limit::RunThreads(threads, [&](int thread) {
    auto& next = places[static_cast<std::size_t>(thread)];
    for (std::size_t i = share(thread); i < share(thread + 1); ++i) {
      const char* const record = input.data + i * kRecord;
      const std::uint64_t first = FirstOf(record);
      entries[next[first >> (64 - kBucketBits)]++] = {first, static_cast<std::uint32_t>(i),
                                                      SecondOf(record)};
    }
  });
  const int fd = ::open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) {
    std::perror(argv[2]);
    return 1;
  }
  std::atomic<std::size_t> next_bucket = 0;
  limit::RunThreads(threads, [&](int) {
    std::vector<char> bytes;
    for (std::size_t bucket; (bucket = next_bucket++) < kBuckets;) {
      Entry* const begin = entries.get() + begins[bucket];
      Entry* const end = entries.get() + begins[bucket + 1];
      std::sort(begin, end);
      bytes.resize(static_cast<std::size_t>(end - begin) * kRecord);
      char* out = bytes.data();
      for (const Entry* entry = begin; entry != end; ++entry, out += kRecord) {
        if (static_cast<std::size_t>(end - entry) > kAhead) {
          __builtin_prefetch(input.data + entry[kAhead].index * kRecord);
          __builtin_prefetch(input.data + entry[kAhead].index * kRecord + 64);
        }
        std::memcpy(out, input.data + entry->index * kRecord, kRecord);
      }
      WriteAll(fd, bytes, begins[bucket] * kRecord);
    }
  });
  return ::close(fd) == 0 ? 0 : 1;
}
