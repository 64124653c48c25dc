// The practical limit of the job weather on this machine: one purpose, one file, two threads, input
// mapped, rows "station,YYYY-MM-DD,hh:mm,degrees" taken for well-formed, a header left out. Weir's
// CPU time is held against it.
//   limit_weather INPUT OUTPUT [THREADS]

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/limit_input.h"
#include "tests/bench/limit_rows.h"

namespace {

constexpr std::size_t kRoom = 1 << 14;
constexpr std::size_t kDays = 12 * 31;
constexpr std::int16_t kNoReading = std::numeric_limits<std::int16_t>::min();

// Highest tenths of each day of one year.
using Year = std::array<std::int16_t, kDays>;

struct Station {
  limit::Name name;
  // The year that was met last, because rows are mostly in order of time.
  int year = -1;
  Year* days = nullptr;
  std::map<int, Year> years;

  Year& Of(int wanted) {
    if (wanted != year) {
      const auto [entry, is_new] = years.try_emplace(wanted);
      if (is_new) entry->second.fill(kNoReading);
      year = wanted;
      days = &entry->second;
    }
    return *days;
  }
};

// "YYYY-MM-DD" as year and place within it, from the digits of a word at once.
struct Day {
  int year;
  std::size_t index;
};

Day TakeDay(const char*& at) {
  std::uint64_t word;
  std::memcpy(&word, at, 8);  // YYYY-MM-
  const std::uint64_t digits = word & 0x000f0f000f0f0f0f;
  const std::uint64_t pairs = digits * 10 + (digits >> 8);
  const auto year = static_cast<int>((pairs & 0xff) * 100 + ((pairs >> 16) & 0xff));
  const std::uint64_t month = (pairs >> 40) & 0xff;
  const auto day = static_cast<std::uint64_t>((at[8] & 0xf) * 10 + (at[9] & 0xf));
  at += 11;
  return {year, (month - 1) * 31 + day - 1};
}

class Stations {
 public:
  Stations() : rooms_(kRoom, nullptr) {}
  void Row(const char*& at) {
    Station& station = Find(limit::TakeName<','>(at));
    const Day day = TakeDay(at);
    at += 6;  // hh:mm,
    if (*at == '\n') {
      ++at;
      return;
    }
    std::int16_t& highest = station.Of(day.year)[day.index];
    highest = std::max(highest, static_cast<std::int16_t>(limit::TakeTenths(at)));
  }
  // A station that is new gets a place of its own; there are few.
  Station& Find(const limit::Name& name) {
    const std::uint64_t hash =
        (name.first ^ std::rotl(name.second, 29) ^ name.bytes) * 0x9e3779b97f4a7c15;
    for (std::size_t i = hash >> 50;; i = (i + 1) & (kRoom - 1)) {
      Station* const station = rooms_[i];
      if (station == nullptr) {
        if (all_.size() == kRoom / 2) {
          std::fputs("limit_weather: too many stations\n", stderr);
          std::exit(1);
        }
        all_.push_back(std::make_unique<Station>());
        all_.back()->name = name;
        return *(rooms_[i] = all_.back().get());
      }
      if (station->name.first == name.first && station->name.second == name.second &&
          station->name.bytes == name.bytes &&
          (name.bytes <= 16 ||
           std::memcmp(station->name.text + 16, name.text + 16, name.bytes - 16) == 0)) {
        return *station;
      }
    }
  }
  const std::vector<std::unique_ptr<Station>>& all() const { return all_; }

 private:
  std::vector<Station*> rooms_;
  std::vector<std::unique_ptr<Station>> all_;
};

void Merge(const Station& from, Station& into) {
  for (const auto& [year, days] : from.years) {
    Year& highest = into.Of(year);
    for (std::size_t i = 0; i < kDays; ++i) highest[i] = std::max(highest[i], days[i]);
  }
}

// The means of one station's days, rounded half away from zero.
void Write(const Station& station, std::FILE* out) {
  for (std::size_t i = 0; i < kDays; ++i) {
    std::int64_t sum = 0;
    std::int64_t count = 0;
    for (const auto& [year, days] : station.years) {
      if (days[i] == kNoReading) continue;
      sum += days[i];
      ++count;
    }
    if (count == 0) continue;
    const std::int64_t mean = (2 * std::abs(sum) + count) / (2 * count);
    std::fprintf(out, "%.*s\t%02zu-%02zu\t%s%lld.%lld\n", static_cast<int>(station.name.bytes),
                 station.name.text, i / 31 + 1, i % 31 + 1, sum < 0 && mean != 0 ? "-" : "",
                 static_cast<long long>(mean / 10), static_cast<long long>(mean % 10));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: limit_weather INPUT OUTPUT [THREADS]\n", stderr);
    return 2;
  }
  limit::Input input = limit::MapInput(argv[1]);
  constexpr std::string_view kHeader = "station,date,time,temperature\n";
  if (std::string_view(input.data, input.bytes).starts_with(kHeader)) {
    input.data += kHeader.size();
    input.bytes -= kHeader.size();
  }
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  std::vector<Stations> of_thread = limit::TakeRows<Stations>(input, threads);
  Stations& all = of_thread[0];
  for (std::size_t i = 1; i < of_thread.size(); ++i) {
    for (const auto& from : of_thread[i].all()) Merge(*from, all.Find(from->name));
  }
  std::FILE* out = std::fopen(argv[2], "wb");
  if (out == nullptr) {
    std::perror(argv[2]);
    return 1;
  }
  for (const auto& station : all.all()) Write(*station, out);
  std::fclose(out);
  std::_Exit(0);
}
