// Makes the inputs of the benchmarks: the same bytes for the same arguments on every machine.
//   generate_input words BYTES DISTINCT FILE   Zipf text (exponent 1), each distinct word at least
//   once
//   generate_input code BYTES FILE             lines like those of programs: long words, most of
//   which come again seldom
//   generate_input rows ROWS FILE [STATIONS]   "station;temperature" over 413 stations, or more
//   generate_input weather-csv|weather-ncdc ROWS FILE [SEED]  hourly readings of 100 stations, for
//   the weather job; both formats of one seed hold the same readings, so the same result

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace {

constexpr std::uint64_t kSeed = 20260117;

// Distributions are our own: those of the standard library differ between implementations.
class Dice {
 public:
  explicit Dice(std::uint64_t seed = kSeed) : bits_(seed) {}
  std::uint64_t Below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(bits_()) * bound) >> 64);
  }
  double Unit() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  // Sum of twelve: close enough to a normal distribution for temperatures.
  double Bell() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Unit();
    return sum;
  }

 private:
  std::mt19937_64 bits_;
};

class Output {
 public:
  explicit Output(const char* path) : file_(std::fopen(path, "wb")) {
    if (file_ == nullptr) {
      std::perror(path);
      std::exit(1);
    }
    std::setvbuf(file_, nullptr, _IOFBF, 1 << 20);
  }
  ~Output() {
    if (std::fclose(file_) != 0) {
      std::perror("close");
      std::exit(1);
    }
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void Write(std::string_view text) {
    bytes_ += text.size();
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
      std::perror("write");
      std::exit(1);
    }
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::FILE* file_;
  std::uint64_t bytes_ = 0;
};

// Frequent words are short, as in natural language; now and then a long one.
std::vector<std::string> MakeWords(std::size_t distinct, Dice& dice) {
  std::vector<std::string> words;
  std::unordered_set<std::string> taken;
  while (words.size() < distinct) {
    const double typical = 1.5 + 1.2 * std::log10(static_cast<double>(words.size()) + 1.0);
    std::size_t length = static_cast<std::size_t>(typical) + dice.Below(5);
    if (dice.Below(200) == 0) length += dice.Below(40);
    std::string word(std::max<std::size_t>(length, 1), ' ');
    for (char& c : word) c = static_cast<char>('a' + dice.Below(26));
    if (taken.insert(word).second) words.push_back(word);
  }
  return words;
}

// Draws rank i with weight 1 / (i + 1) in constant time (Vose's alias method).
class ZipfRanks {
 public:
  explicit ZipfRanks(std::size_t count) : keep_(count), other_(count) {
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) total += 1.0 / static_cast<double>(i + 1);
    std::vector<std::size_t> low, high;
    for (std::size_t i = 0; i < count; ++i) {
      keep_[i] = static_cast<double>(count) / static_cast<double>(i + 1) / total;
      other_[i] = i;
      (keep_[i] < 1 ? low : high).push_back(i);
    }
    while (!low.empty() && !high.empty()) {
      const std::size_t from = high.back();
      other_[low.back()] = from;
      keep_[from] -= 1 - keep_[low.back()];
      low.pop_back();
      if (keep_[from] < 1) {
        high.pop_back();
        low.push_back(from);
      }
    }
    for (const std::size_t i : high) keep_[i] = 1;
    for (const std::size_t i : low) keep_[i] = 1;
  }
  std::size_t Draw(Dice& dice) const {
    const std::size_t i = dice.Below(keep_.size());
    return dice.Unit() < keep_[i] ? i : other_[i];
  }

 private:
  std::vector<double> keep_;
  std::vector<std::size_t> other_;
};

void WriteWords(std::uint64_t bytes, std::size_t distinct, Output& out) {
  Dice dice;
  const std::vector<std::string> words = MakeWords(distinct, dice);
  const ZipfRanks ranks(distinct);
  // One word in order now and then, so that every word appears however short the text.
  const double step = static_cast<double>(bytes) / static_cast<double>(distinct);
  std::size_t in_order = 0;
  while (out.bytes() < bytes || in_order < distinct) {
    const bool due = in_order < distinct &&
                     static_cast<double>(out.bytes()) >= step * static_cast<double>(in_order);
    out.Write(words[due ? in_order++ : ranks.Draw(dice)]);
    out.Write(dice.Below(11) == 0 ? "\n" : " ");
  }
  out.Write("\n");
}

// Names that all programs use, and words made of two or three of them: of a megabyte every fifth
// word is new, of more fewer, as in the sources of Linux.
void WriteCode(std::uint64_t bytes, Output& out) {
  constexpr std::size_t kNames = 4000;
  static constexpr std::array<std::string_view, 8> kJoints = {"_", "_", "_", "->",
                                                              ".", "(", "[", "::"};
  static constexpr std::array<std::string_view, 6> kEnds = {"", "", ",", ";", ");", "*"};
  Dice dice;
  const std::vector<std::string> names = MakeWords(kNames, dice);
  const ZipfRanks ranks(kNames);
  std::string line;
  while (out.bytes() < bytes) {
    line.assign(dice.Below(4), '\t');
    for (std::uint64_t left = 1 + dice.Below(8); left > 0; --left) {
      line += names[ranks.Draw(dice)];
      if (dice.Below(4) == 0) {
        for (std::uint64_t joints = dice.Below(3); joints > 0; --joints) {
          line += kJoints[dice.Below(kJoints.size())];
          line += names[ranks.Draw(dice)];
        }
        line += kEnds[dice.Below(kEnds.size())];
      }
      line += left > 1 ? ' ' : '\n';
    }
    out.Write(line);
  }
}

struct Station {
  std::string name;
  double mean;
};

constexpr std::size_t kUsualStations = 413;

std::vector<Station> MakeStations(std::size_t count, Dice& dice) {
  static constexpr std::array<std::string_view, 12> kSyllables = {
      "ma", "dri", "ber", "lin", "to", "kyo", "s\xc3\xa3o", "z\xc3\xbcr", "os", "la", "pa", "ris"};
  std::vector<Station> stations;
  std::unordered_set<std::string> taken;
  // Short names do not suffice for many.
  const std::uint64_t lengths = count > kUsualStations ? 4 : 2;
  while (stations.size() < count) {
    std::string name;
    for (std::uint64_t left = 2 + dice.Below(lengths); left > 0; --left) {
      name += kSyllables[dice.Below(kSyllables.size())];
    }
    if (dice.Below(12) == 0) name += " de la " + std::string(kSyllables[dice.Below(12)]);
    name[0] = static_cast<char>(name[0] >= 'a' && name[0] <= 'z' ? name[0] - 32 : name[0]);
    if (taken.insert(name).second) stations.push_back({name, dice.Unit() * 50 - 15});
  }
  return stations;
}

void WriteRows(std::uint64_t rows, std::size_t num_stations, Output& out) {
  Dice dice;
  const std::vector<Station> stations = MakeStations(num_stations, dice);
  std::string row;
  for (; rows > 0; --rows) {
    const Station& station = stations[dice.Below(stations.size())];
    const double degrees = station.mean + 10 * dice.Bell();
    const int tenths = std::clamp(static_cast<int>(std::floor(degrees * 10 + 0.5)), -999, 999);
    row = station.name;
    row += tenths < 0 ? ";-" : ";";
    row += std::to_string(std::abs(tenths) / 10);
    row += '.';
    row += static_cast<char>('0' + std::abs(tenths) % 10);
    row += '\n';
    out.Write(row);
  }
}

enum class WeatherFormat { kCsv, kNcdc };

// What one thermometer shows in one hour; not all of it is fit for use.
struct Hour {
  int year, month, day, hour;
};

Hour HourAfter(Hour at) {
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (++at.hour < 24) return at;
  at.hour = 0;
  const bool leap = at.year % 4 == 0 && (at.year % 100 != 0 || at.year % 400 == 0);
  const int days = kDays[static_cast<std::size_t>(at.month - 1)] + (at.month == 2 && leap ? 1 : 0);
  if (++at.day <= days) return at;
  at.day = 1;
  if (++at.month <= 12) return at;
  at.month = 1;
  ++at.year;
  return at;
}

void AppendWeather(WeatherFormat format, int station, const Hour& at, int tenths, bool missing,
                   std::string& out) {
  std::array<char, 128> text;
  const int magnitude = std::abs(tenths);
  const char* const minus = tenths < 0 ? "-" : "";
  if (format == WeatherFormat::kCsv) {
    std::snprintf(text.data(), text.size(), "%06d99999,%04d-%02d-%02d,%02d:00,", station, at.year,
                  at.month, at.day, at.hour);
    out += text.data();
    if (!missing) {
      std::snprintf(text.data(), text.size(), "%s%d.%d", minus, magnitude / 10, magnitude % 10);
      out += text.data();
    }
  } else {
    // Columns that the job does not read hold what most real records hold there.
    std::snprintf(
        text.data(), text.size(),
        "0029%06d99999%04d%02d%02d%02d004+64333+023450FM-12+000599999V0202701N015919999999"
        "N0000001N9%c%04d1+99999102001",
        station, at.year, at.month, at.day, at.hour, missing || tenths >= 0 ? '+' : '-',
        missing ? 9999 : magnitude);
    out += text.data();
  }
  out += '\n';
}

void WriteWeather(WeatherFormat format, std::uint64_t rows, std::uint64_t seed, Output& out) {
  constexpr int kStations = 100;
  constexpr double kDayOfHour = 2 * 3.14159265358979323846 / 24;
  Dice dice(seed);
  std::array<double, kStations> means;
  for (double& mean : means) mean = dice.Unit() * 40 - 10;
  std::string row;
  int station = 0;
  for (Hour at{1990, 1, 1, 0}; rows > 0; --rows) {
    const double season = -10 * std::cos((at.month - 1 + at.day / 31.0) * kDayOfHour * 2);
    const double daily = -4 * std::cos((at.hour - 3) * kDayOfHour);
    const double degrees =
        means[static_cast<std::size_t>(station)] + season + daily + 3 * dice.Bell();
    const int tenths = std::clamp(static_cast<int>(std::floor(degrees * 10 + 0.5)), -999, 999);
    const bool missing = dice.Below(100) == 0;
    row.clear();
    AppendWeather(format, 20000 + 10 * station, at, tenths, missing, row);
    out.Write(row);
    if (++station == kStations) {
      station = 0;
      at = HourAfter(at);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "words" && argc == 5) {
    Output out(argv[4]);
    WriteWords(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10), out);
    return 0;
  }
  if (kind == "code" && argc == 4) {
    Output out(argv[3]);
    WriteCode(std::strtoull(argv[2], nullptr, 10), out);
    return 0;
  }
  if (kind == "rows" && (argc == 4 || argc == 5)) {
    Output out(argv[3]);
    WriteRows(std::strtoull(argv[2], nullptr, 10),
              argc == 5 ? std::strtoull(argv[4], nullptr, 10) : kUsualStations, out);
    return 0;
  }
  const bool csv = kind == "weather-csv";
  if ((csv || kind == "weather-ncdc") && (argc == 4 || argc == 5)) {
    Output out(argv[3]);
    WriteWeather(csv ? WeatherFormat::kCsv : WeatherFormat::kNcdc,
                 std::strtoull(argv[2], nullptr, 10),
                 argc == 5 ? std::strtoull(argv[4], nullptr, 10) : kSeed, out);
    return 0;
  }
  std::fputs(
      "usage: generate_input words BYTES DISTINCT FILE | code BYTES FILE |\n"
      "       rows ROWS FILE [STATIONS] |\n"
      "       weather-csv ROWS FILE [SEED] | weather-ncdc ROWS FILE [SEED]\n",
      stderr);
  return 2;
}
