#include "runtime/master/input/cold_input.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace weir::master {
namespace {

// Where less is missing, maps hardly wait for it, and it may be what another program displaced.
constexpr double kMissingPartMin = 0.1;
// Pieces that are read, and of what size: each a fraction of the smallest input that is asked for,
// so that a slow disk does not take long for it beside the job.
constexpr std::size_t kPieces = 4;
constexpr std::int64_t kPieceBytes = 4 << 20;
// Of shorter files the disk's seeks count more than what it reads in order.
constexpr std::int64_t kPieceBytesMin = 1 << 20;
constexpr absl::Duration kLong = absl::Milliseconds(50);

struct Place {
  const FilePlaces* file = nullptr;
  std::int64_t offset = 0;
};

// Nothing: it took too long, or a file cannot be asked.
std::optional<std::vector<Place>> MissingPlaces(env::Storage& storage, const env::EventLoop& clock,
                                                absl::Span<const FilePlaces> files) {
  std::vector<Place> missing;
  const MonoTime begin = clock.Now();
  for (const FilePlaces& file : files) {
    const auto offsets = storage.NotInMemory(file.path, file.offsets);
    if (!offsets.ok() || clock.Now() - begin > kLong) return std::nullopt;
    for (const std::int64_t offset : *offsets) missing.push_back({&file, offset});
  }
  return missing;
}

// What the disk took for some bytes that were read.
struct DiskRead {
  double bytes = 0;
  double seconds = 0;
};

// Nothing: it cannot be read.
std::optional<DiskRead> ReadPiece(env::Storage& storage, const env::EventLoop& clock,
                                  const Place& place) {
  const std::int64_t last = std::max<std::int64_t>(0, place.file->file_bytes - kPieceBytes);
  const std::int64_t offset = std::min(place.offset, last);
  const MonoTime begin = clock.Now();
  const absl::StatusOr<std::string> bytes = storage.ReadAt(place.file->path, offset, kPieceBytes);
  const MonoTime read = clock.Now();
  // Room for the bytes, and to copy them, which mappers do while the disk reads on.
  const absl::StatusOr<std::string> again = storage.ReadAt(place.file->path, offset, kPieceBytes);
  const MonoTime read_again = clock.Now();
  if (!bytes.ok() || !again.ok() || bytes->empty()) return std::nullopt;
  return DiskRead{static_cast<double>(bytes->size()),
                  absl::ToDoubleSeconds((read - begin) - (read_again - read))};
}

}  // namespace

std::vector<FilePlaces> PlacesToAsk(const InputList& input, std::uint64_t seed) {
  std::vector<FilePlaces> files;
  if (input.total_bytes < kAskedInputBytes) return files;
  const std::int64_t step = input.total_bytes / kAskedPlaces;
  const auto first = static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(step));
  std::int64_t file_begin = 0;
  std::int64_t place = 0;
  for (const InputFile& file : input.files) {
    FilePlaces asked{file.path, file.bytes, {}};
    for (; place < kAskedPlaces && first + place * step < file_begin + file.bytes; ++place) {
      asked.offsets.push_back(first + place * step - file_begin);
    }
    file_begin += file.bytes;
    if (!asked.offsets.empty()) files.push_back(std::move(asked));
  }
  return files;
}

double MeasureColdReadSeconds(env::Storage& storage, const env::EventLoop& clock,
                              absl::Span<const FilePlaces> files) {
  double num_asked = 0;
  for (const FilePlaces& file : files) num_asked += static_cast<double>(file.offsets.size());
  const auto missing = MissingPlaces(storage, clock, files);
  if (!missing) return 0;
  const auto num_missing = static_cast<double>(missing->size());
  if (num_missing <= kMissingPartMin * num_asked) return 0;
  DiskRead all;
  const MonoTime begin = clock.Now();
  for (std::size_t i = 0; i < kPieces && clock.Now() - begin < kLong; ++i) {
    const Place& place = (*missing)[missing->size() * (2 * i + 1) / (2 * kPieces)];
    if (place.file->file_bytes < kPieceBytesMin) continue;
    const std::optional<DiskRead> piece = ReadPiece(storage, clock, place);
    if (!piece) return 0;
    all.bytes += piece->bytes;
    all.seconds += piece->seconds;
  }
  return all.seconds > 0 ? num_missing / num_asked * all.seconds / all.bytes : 0;
}

}  // namespace weir::master
