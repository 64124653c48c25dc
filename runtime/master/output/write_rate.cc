#include "runtime/master/output/write_rate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/master/output/output_probe.h"

namespace weir::master {
namespace {

constexpr std::size_t kSmallBytes = 64 << 10;
constexpr std::size_t kLargeBytes = 2 << 20;
// Where a small file takes that long, a large one might take a second.
constexpr double kSlowFileS = 0.01;
constexpr std::size_t kLargeOfSlowBytes = 1 << 20;
// After so long nothing is tried again.
constexpr double kLongS = 0.05;
constexpr int kTriesMax = 4;
constexpr double kAlike = 1.2;
// A difference that says little beside what the larger file takes.
constexpr double kAlikeS = 3e-4;

// Bytes that no file system packs or leaves out.
std::string Incompressible(std::size_t bytes) {
  std::string content(bytes, '\0');
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (std::size_t at = 0; at + sizeof state <= bytes; at += sizeof state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(content.data() + at, &state, sizeof state);
  }
  return content;
}

class Trial {
 public:
  Trial(env::Storage& storage, const env::EventLoop& clock, const std::string& directory)
      : storage_(storage), clock_(clock), directory_(directory) {}

  /// What a synced file takes beyond one that is only copied to memory, which parts do while the
  /// disk works. The least of some tries, since others use the disk, too: until two agree, or that
  /// takes too long. Infinite where it fails.
  double SyncSeconds(std::size_t bytes) {
    const std::string content = Incompressible(bytes);
    double least_s = std::numeric_limits<double>::infinity();
    double spent_s = 0;
    for (int i = 0; i < kTriesMax && spent_s < kLongS; ++i) {
      // Not one file again and again: to give back the room of the last one takes as long.
      const std::string path = absl::StrCat(directory_, "/", bytes, "-", i);
      const auto begin = clock_.Now();
      if (!storage_.WriteFile(absl::StrCat(path, "-copied"), content).ok()) break;
      const auto copied = clock_.Now();
      if (!storage_.WriteFileAtomically(path, content).ok()) break;
      const auto synced = clock_.Now();
      const double sync_s = absl::ToDoubleSeconds((synced - copied) - (copied - begin));
      const bool agree = std::max(least_s, sync_s) <= kAlike * std::min(least_s, sync_s) + kAlikeS;
      least_s = std::min(least_s, sync_s);
      if (agree) break;
      spent_s += absl::ToDoubleSeconds(synced - begin);
    }
    return least_s;
  }

 private:
  env::Storage& storage_;
  const env::EventLoop& clock_;
  const std::string& directory_;
};

}  // namespace

double MeasureWriteSeconds(env::Storage& storage, const env::EventLoop& clock,
                           const std::string& output) {
  const std::string directory = TrialDirectory(output);
  if (!storage.MakeDirectory(directory).ok()) return 0;
  Trial trial(storage, clock, directory);
  const double small_s = trial.SyncSeconds(kSmallBytes);
  const std::size_t bytes = small_s < kSlowFileS ? kLargeBytes : kLargeOfSlowBytes;
  const double large_s = trial.SyncSeconds(bytes);
  // A trial of a later job removes what this one cannot.
  const bool told = storage.RemoveAll(directory).ok() && large_s > small_s &&
                    large_s < std::numeric_limits<double>::infinity();
  return told ? (large_s - small_s) / static_cast<double>(bytes - kSmallBytes) : 0;
}

}  // namespace weir::master
