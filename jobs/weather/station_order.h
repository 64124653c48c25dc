#pragma once

// In which order stations come. Upstream: rows of csv_readings.h.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "jobs/api/key_place.h"
#include "jobs/api/scan/byte_scan.h"
#include "jobs/weather/station_keys.h"

namespace weir::weather {

/// Foretells the station of the next row: the one that followed the last row's station before, or
/// that station again. Rows of hours name all stations in the same order, rows of stations the same
/// one. Where rows come in no order it is out of use, for longer each time
/// (docs/adr/0064-a-key-may-bring-its-place.md).
///
/// Thread-safety: one thread at a time. Checked by: tests/unit/jobs/station_order_test.cc.
class StationOrder {
 public:
  static constexpr std::uint32_t kTextBytes = 16;  // of a row, a station and its comma
  static constexpr std::size_t kStationsMax = 1024;

  struct Station {
    std::array<char, kTextBytes> text{};
    std::uint32_t mask = 0;  // of the bytes of `text` that count
    std::uint32_t bytes = 0;
    Station* next = nullptr;
    Date date;       // of the place
    KeyPlace place;  // of the station at this date
  };

  StationOrder() { nobody_.mask = 1U << kTextBytes; }
  StationOrder(const StationOrder&) = delete;
  StationOrder& operator=(const StationOrder&) = delete;

  /// The station that the line begins with, if it is the one foretold; else null. Requires:
  /// kTextBytes readable bytes.
  [[gnu::always_inline]] Station* Expected(const char* line) {
    Station* const station = expected_;
    if (!IsOf(*station, line)) return nullptr;
    last_ = station;
    expected_ = station->next;
    return station;
  }

  /// The station of a row whose one was not foretold; null where it is not known. Requires: a
  /// station of 1 to kTextBytes - 1 bytes with a comma behind it.
  [[gnu::always_inline]] Station* Find(const char* line, std::uint32_t bytes) {
    return rows_left_ > 0 ? nullptr : FindInUse(line, bytes);
  }

  /// To be called before rows are looked at, some hundred at a time at most. Out of use or in use
  /// again after some of them.
  void CountRows(std::int64_t rows) {
    if (rows_left_ > 0) {
      rows_left_ = std::max<std::int64_t>(rows_left_ - rows, 0);
      return;
    }
    tried_ += rows;
    if (tried_ < kTriedRows) return;
    if (missed_ > tried_ / kTriedToMissed) {
      rows_left_ = left_out_rows_;
      left_out_rows_ = std::min(2 * left_out_rows_, kLeftOutRowsMax);
      last_ = expected_ = &nobody_;
    } else {
      left_out_rows_ = kTriedRows;
    }
    tried_ = missed_ = 0;
  }

 private:
  // Of nobody_ no line is: its mask has a bit of no byte.
  static bool IsOf(const Station& station, const char* line) {
    return (station.mask & ~SameMask16(line, station.text.data())) == 0;
  }

  // Each station is missed once, before the first round of all is over.
  static constexpr std::int64_t kTriedRows = 4 * kStationsMax;
  static constexpr std::int64_t kTriedToMissed = 3;
  static constexpr std::int64_t kLeftOutRowsMax = 256 * kTriedRows;
  static constexpr std::size_t kRooms = 2 * kStationsMax;

  [[gnu::noinline]] Station* FindInUse(const char* line, std::uint32_t bytes) {
    ++missed_;
    Station* const station = Place(line, bytes);
    if (station == nullptr) {
      last_ = &nobody_;
      return nullptr;
    }
    last_->next = station;
    last_ = station;
    expected_ = station->next;
    return station;
  }

  Station* Place(const char* line, std::uint32_t bytes) {
    for (std::size_t room = RoomOf(line, bytes);; room = (room + 1) % kRooms) {
      Station* const station = rooms_[room];
      if (station == nullptr) return rooms_[room] = Add(line, bytes);
      if (IsOf(*station, line)) return station;
    }
  }
  Station* Add(const char* line, std::uint32_t bytes) {
    if (stations_.size() == kStationsMax) return nullptr;
    stations_.reserve(kStationsMax);
    Station& station = stations_.emplace_back();
    std::memcpy(station.text.data(), line, bytes + 1);
    station.mask = (1U << (bytes + 1)) - 1;
    station.bytes = bytes;
    station.next = &station;
    return &station;
  }
  static std::size_t RoomOf(const char* line, std::uint32_t bytes) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::memcpy(&first, line, std::min<std::size_t>(bytes, sizeof first));
    std::memcpy(&last, line + bytes - std::min<std::size_t>(bytes, sizeof last),
                std::min<std::size_t>(bytes, sizeof last));
    const std::uint64_t hash = (first ^ std::rotl(last, 29)) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(hash >> 32) % kRooms;
  }

  Station nobody_;
  std::vector<Station> stations_;  // never grows beyond what is reserved: stations stay in place
  std::array<Station*, kRooms> rooms_{};
  Station* last_ = &nobody_;
  Station* expected_ = &nobody_;
  std::int64_t tried_ = 0;
  std::int64_t missed_ = 0;
  std::int64_t rows_left_ = 0;
  std::int64_t left_out_rows_ = kTriedRows;
};

}  // namespace weir::weather
