// The practical limit of summarizing station rows on this machine: one purpose, one file, two
// threads, input mapped, rows taken for well-formed. Weir's CPU time is held against it.
//   limit_onebrc INPUT OUTPUT [THREADS]

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "tests/bench/limit_input.h"
#include "tests/bench/limit_rows.h"

namespace {

constexpr std::size_t kRoom = 1 << 17;

struct alignas(64) Station {
  std::uint64_t first;
  std::uint64_t second;
  const char* name;
  std::uint32_t bytes;  // zero: free
  std::int16_t min;
  std::int16_t max;
  std::int64_t sum;
  std::int64_t count;
};

class Stations {
 public:
  Stations() : rooms_(static_cast<Station*>(std::aligned_alloc(64, kRoom * sizeof(Station)))) {
    std::memset(rooms_, 0, kRoom * sizeof(Station));
  }
  Station& Find(const limit::Name& name) {
    std::uint64_t hash =
        (name.first ^ std::rotl(name.second, 29) ^ name.bytes) * 0x9e3779b97f4a7c15;
    for (std::size_t i = hash >> 47;; i = (i + 1) & (kRoom - 1)) {
      Station& station = rooms_[i];
      if (station.first == name.first && station.second == name.second &&
          station.bytes == name.bytes &&
          (name.bytes <= 16 ||
           std::memcmp(station.name + 16, name.text + 16, name.bytes - 16) == 0)) {
        return station;
      }
      if (station.bytes == 0) {
        station = {name.first, name.second, name.text, name.bytes, 1000, -1000, 0, 0};
        return station;
      }
    }
  }
  void Row(const char*& at) {
    const limit::Name name = limit::TakeName<';'>(at);
    const int tenths = limit::TakeTenths(at);
    Station& station = Find(name);
    station.min = std::min(station.min, static_cast<std::int16_t>(tenths));
    station.max = std::max(station.max, static_cast<std::int16_t>(tenths));
    station.sum += tenths;
    ++station.count;
  }
  template <typename Visit>
  void Each(Visit&& visit) {
    for (std::size_t i = 0; i < kRoom; ++i) {
      if (rooms_[i].bytes != 0) visit(rooms_[i]);
    }
  }

 private:
  Station* rooms_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: limit_onebrc INPUT OUTPUT [THREADS]\n", stderr);
    return 2;
  }
  const limit::Input input = limit::MapInput(argv[1]);
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  std::vector<Stations> of_thread = limit::TakeRows<Stations>(input, threads);
  Stations& all = of_thread[0];
  for (std::size_t i = 1; i < of_thread.size(); ++i) {
    of_thread[i].Each([&](const Station& from) {
      Station& into = all.Find({from.first, from.second, from.name, from.bytes});
      into.min = std::min(into.min, from.min);
      into.max = std::max(into.max, from.max);
      into.sum += from.sum;
      into.count += from.count;
    });
  }
  std::vector<const Station*> sorted;
  all.Each([&](const Station& station) { sorted.push_back(&station); });
  std::sort(sorted.begin(), sorted.end(), [](const Station* a, const Station* b) {
    return std::string_view(a->name, a->bytes) < std::string_view(b->name, b->bytes);
  });
  std::FILE* out = std::fopen(argv[2], "wb");
  if (out == nullptr) {
    std::perror(argv[2]);
    return 1;
  }
  for (const Station* one : sorted) {
    const double mean =
        std::floor(static_cast<double>(one->sum) / static_cast<double>(one->count) + 0.5);
    std::fprintf(out, "%.*s=%.1f/%.1f/%.1f\n", static_cast<int>(one->bytes), one->name,
                 one->min / 10.0, (mean + 0.0) / 10.0, one->max / 10.0);
  }
  std::fclose(out);
  std::_Exit(0);
}
